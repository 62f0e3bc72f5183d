/**
 * The requests for a pipe's refused rows, as a source: the runner replays and discards in the same order as it loads.
 * A batch of a replay inserts the rows, and then marks them in the error table. What a confirmed batch has tried is
 * therefore never selected again by its request, and a batch that was interrupted is repeated from its intent.
 */
import type {
  InsertFailure,
  RefusedReplays,
  ReplayDecision,
  ReplayInserts,
  RowReplay,
  Source,
  Batch as SourceBatch,
} from "../../sources/contract/source.ts";
import type { ErrorOutcome, ErrorRequest } from "../../store/pipes/error-requests.ts";
import type { ErrorRequestDurable, ReplayedRows } from "../error-requests.ts";
import { errorRequestLane } from "../protocol.ts";
import type { RefusedRowsAccess, RowPosition } from "./refused-rows.ts";

type Batch = SourceBatch<ErrorRequestDurable>;

/** The requests, which the control plane keeps. */
export type ErrorRequests = {
  /** Pending ones, in the order in which they are carried out. */
  list(): Promise<readonly ErrorRequest[]>;
  /** Throws NOT_FOUND. */
  find(id: string): Promise<ErrorRequest>;
  /** Freezes the number of rows that a request selects; returns the first number that was given. */
  sized(id: string, rows: number): Promise<number>;
  finish(id: string, outcome: ErrorOutcome): Promise<void>;
};

export type ErrorRequestsParts = {
  readonly requests: ErrorRequests;
  readonly rows: RefusedRowsAccess;
  /** Undefined for a kind whose rows cannot be replayed. */
  readonly replay: RowReplay | undefined;
  /** The clock, in ms. */
  readonly now: () => number;
};

/** These rows are not rows of the source: they are counted for themselves. */
const notLoaded = { fetchedRows: 0, sentRows: 0, sentBytes: 0 };

export class ErrorRequestsSource implements Source<ErrorRequestDurable> {
  readonly #parts: ErrorRequestsParts;
  readonly #made = new WeakMap<Batch, ReplayInserts>();

  constructor(parts: ErrorRequestsParts) {
    this.#parts = parts;
  }

  async *read(_checkpoints: ReadonlyMap<string, never>, signal: AbortSignal): AsyncIterable<Batch> {
    const { requests, rows } = this.#parts;
    for (const request of await requests.list()) {
      // After an abort the batches before may not be durable, and what they select would be counted again.
      if (signal.aborted) return;
      const left = await rows.count(request);
      await requests.sized(request.id, left);
      // Not the number of the first attempt: a discard that is confirmed leaves none, and is not counted twice.
      if (request.kind === "replay") yield* this.#replays(request, signal);
      else if (left > 0) yield this.#discard(request, left);
      if (signal.aborted) return;
      yield endOf(request.id);
    }
  }

  async *#replays(request: ErrorRequest, signal: AbortSignal): AsyncIterable<Batch> {
    if (this.#parts.replay === undefined) return;
    let after: RowPosition | undefined;
    while (!signal.aborted) {
      const { ids, last } = await this.#parts.rows.next(request, after);
      if (ids.length === 0) return;
      const saved = { request: request.id, by: request.requestedBy, at: this.#parts.now() };
      yield await this.#batch({ ...saved, rows: ids, refused: {}, attempt: 0 }, signal);
      after = last;
    }
  }

  async replay(saved: ErrorRequestDurable["replay"], signal: AbortSignal): Promise<Batch> {
    if ("rows" in saved) return await this.#batch(saved, signal);
    if ("end" in saved) return endOf(saved.request);
    return this.#discard(await this.#parts.requests.find(saved.request), saved.discard);
  }

  async refused(batch: Batch, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch[]> {
    const saved = batch.replay;
    const made = this.#made.get(batch);
    // The rows are in the table, and what is refused is the mark.
    if (made === undefined || !("rows" in saved) || failure.insert >= made.inserts.length) return [];
    const decision: ReplayDecision = await made.decide(failure);
    if (decision.kind === "stop") return [];
    if (decision.kind === "without") {
      const refused = byReason(new Map([...made.refused, ...decision.refused]));
      return [await this.#batch({ ...saved, refused, attempt: saved.attempt + 1 }, signal)];
    }
    const end = saved.rows.indexOf(decision.lastOfFirst) + 1;
    const halves = [saved.rows.slice(0, end), saved.rows.slice(end)];
    return await Promise.all(halves.map((rows) => this.#batch({ ...saved, rows, attempt: 0 }, signal)));
  }

  async acknowledge({ replay }: Batch): Promise<void> {
    if (!("end" in replay)) return;
    const request = await this.#parts.requests.find(replay.request);
    const outcome = request.kind === "replay" ? await this.#parts.rows.outcome(request) : {};
    await this.#parts.requests.finish(request.id, outcome);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #batch(saved: ReplayedRows, signal: AbortSignal): Promise<Batch> {
    const { rows, replay } = this.#parts;
    if (replay === undefined) throw new TypeError("rows of this kind of source cannot be replayed");
    const kept = await rows.read(saved.rows);
    const made = await replay.make(kept, refusedOf(saved), signal);
    const id = `${errorRequestLane}:${saved.request}:${saved.rows[0]}+${saved.rows.length}`;
    const batch: Batch = {
      lane: errorRequestLane,
      id: saved.attempt === 0 ? id : `${id}~${saved.attempt}`,
      // Also what could not be made into rows: a repeat after a change of the pipe must not insert more than was begun.
      replay: { ...saved, refused: byReason(made.refused) },
      ...(saved.attempt === 0 ? {} : { continues: id }),
      inserts: [...made.inserts, rows.mark(saved, made.refused)],
      counts: { ...notLoaded, replayedRows: kept.length - made.refused.size },
    };
    this.#made.set(batch, made);
    return batch;
  }

  #discard(request: ErrorRequest, discard: number): Batch {
    return {
      lane: errorRequestLane,
      id: `${errorRequestLane}:${request.id}:discard`,
      replay: { request: request.id, discard },
      inserts: [this.#parts.rows.remove(request)],
      counts: { ...notLoaded, discardedRows: discard },
    };
  }
}

function endOf(request: string): Batch {
  return {
    lane: errorRequestLane,
    id: `${errorRequestLane}:${request}:end`,
    replay: { request, end: true },
    inserts: [],
    counts: notLoaded,
  };
}

function byReason(refused: RefusedReplays): Record<string, string[]> {
  const ids: Record<string, string[]> = {};
  for (const [id, reason] of refused) {
    ids[reason] ??= [];
    ids[reason].push(id);
  }
  return ids;
}

function refusedOf({ refused }: ReplayedRows): RefusedReplays {
  return new Map(Object.entries(refused).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)));
}
