/**
 * The one place that owns the order of every pipe:
 *
 *   save the intent -> insert with token -> save the checkpoint -> acknowledge upstream
 *
 * The intent freezes the batch's boundaries, its token and its engine settings. After a restart the saved intents are
 * replayed first, so a crash between any two steps leads to the same rows under the same token, which the engine
 * recognises. A batch that the engine refuses permanently is replaced, in one step of the ledger, by what the source
 * offers instead.
 */
import { sleep } from "../../lib/abort.ts";
import { Backoff, retry } from "../../lib/backoff.ts";
import { Limiter } from "../../lib/limiter.ts";
import type { SlowInsert } from "../../sources/contract/slow-insert.ts";
import type { Batch, Durable, Insert, InsertFailure, Source } from "../../sources/contract/source.ts";
import type { FrozenBatch, Intent } from "../durable.ts";
import { type Failure, failureOf, isFinal, sentenceOf } from "../failures.ts";
import type { Calls, OutageLimits } from "../protocol.ts";
import { rowCounts, tableCounter } from "./counts.ts";
import type { DestinationWriter } from "./destination.ts";
import { type Health, PipeFailure } from "./health.ts";
import type { EngineSettings } from "./settings.ts";

/** Attempts at a batch before a read failure counts as the batch's own. */
const maxSourceAttempts = 4;

/**
 * Share of the time after which a destination fails the pipe: after this share, a source that owns its tables gives up
 * only the table.
 */
const isolatedShare = 1 / 60;

const crashMessage = "The engine of the service ended while it loaded this.";

/** Interval of checks for what other workers have left to replay. */
const othersPollMs = 200;

export type RunnerParts<D extends Durable = Durable> = {
  readonly pipeId: string;
  readonly epoch: number;
  readonly source: Source<D>;
  readonly ledger: Pick<Calls<D>, "begin" | "replace" | "confirm" | "intents" | "checkpoints">;
  readonly destination: Pick<DestinationWriter, "insert" | "reject" | "crashes">;
  readonly health: Health;
  readonly settings: EngineSettings;
  readonly concurrency: number;
  /** The source owns its tables, and can give one up while the others continue. */
  readonly ownsTables: boolean;
  readonly limits: OutageLimits;
  readonly worker: { readonly run: string; readonly index: number };
  /** True for the intents of earlier runs that this worker owns. */
  readonly isMine: (intent: Intent<D>) => boolean;
};

export class Runner<D extends Durable = Durable> {
  readonly #parts: RunnerParts<D>;
  readonly #signal: AbortSignal;

  constructor(parts: RunnerParts<D>, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /** Resolves when the source is exhausted or the signal aborted; throws PipeFailure when the pipe must stop. */
  async run(): Promise<void> {
    const backoff = this.#backoff();
    const classify = (error: unknown) => this.#assertPasses(error);
    await retry(() => this.#readOnce(backoff), { signal: this.#signal, backoff, classify });
  }

  /** Runs until the source is exhausted or something fails; returns only when no batch is in progress. */
  async #readOnce(backoff: Backoff): Promise<void> {
    const lanes = new Lanes(this.#parts.concurrency);
    try {
      // Also after a failure of ours: a batch whose confirmation failed must not be read again with other boundaries.
      await this.#replay();
      const checkpoints = new Map(Object.entries(await this.#parts.ledger.checkpoints()));
      // Both were just read. A pipe without new rows shows nothing else that the store is back.
      this.#parts.health.good(["store"]);
      for await (const batch of this.#parts.source.read(checkpoints, this.#signal)) {
        if (this.#signal.aborted) break;
        await lanes.start(batch.lane, () => this.#begin(batch, backoff));
      }
      await lanes.settle();
    } catch (error) {
      await lanes.settle().catch(() => {});
      throw error;
    }
  }

  /** Replays batches that an earlier run began and did not confirm, exactly as they were saved. */
  async #replay(): Promise<void> {
    const saved = (await this.#parts.ledger.intents()).filter((intent) => this.#isMine(intent));
    const lanes = new Lanes(this.#parts.concurrency);
    for (const { intent: frozen } of saved) {
      if (this.#signal.aborted) break;
      const batch = await this.#untilPossible(() => this.#parts.source.replay(frozen.replay, this.#signal));
      if (batch !== undefined) await lanes.start(batch.lane, () => this.#insert(batch, frozen));
    }
    await lanes.settle();
    await this.#awaitOthers();
  }

  /** The intents of a replaced batch belong to the worker that replaced it, also for a worker that starts later. */
  #isMine(intent: Intent<D>): boolean {
    const { run, replica } = intent.intent;
    const { worker, isMine } = this.#parts;
    return run === worker.run ? replica === worker.index : isMine(intent);
  }

  /**
   * Waits until no batch of an earlier run is left: what another worker replays may also be in this one's share, and
   * would be inserted twice under another token.
   */
  async #awaitOthers(): Promise<void> {
    const isOld = ({ intent }: Intent<D>) => intent.since !== this.#parts.worker.run;
    while (!this.#signal.aborted && (await this.#parts.ledger.intents()).some(isOld)) {
      await sleep(othersPollMs, this.#signal);
    }
  }

  async #begin(batch: Batch<D>, backoff: Backoff): Promise<void> {
    // The previous batch of the lane may have been interrupted: a lane must not have two open intents.
    if (this.#signal.aborted) return;
    const frozen = this.#freeze(batch, this.#parts.worker.run);
    await this.#parts.ledger.begin(intentOf(batch, frozen));
    // Not sooner: where no batch may begin, the source must not be read repeatedly without a pause.
    backoff.reset();
    await this.#insert(batch, frozen);
  }

  #freeze(batch: Batch<D>, since: string): FrozenBatch<D> {
    const { run, index } = this.#parts.worker;
    return {
      run,
      replica: index,
      since,
      token: `${this.#parts.pipeId}:${this.#parts.epoch}:${batch.continues ?? batch.id}`,
      settings: batch.inserts.map((insert) => ({ ...this.#parts.settings, ...insert.settings })),
      replay: batch.replay,
    };
  }

  /** `isRepeated`: the source wants the batch tried as it is, after a look at what failed. */
  async #insert(batch: Batch<D>, frozen: FrozenBatch<D>, isRepeated = false): Promise<void> {
    let sentRows = 0;
    let sentBytes = 0;
    const tables: Record<string, number> = {};
    for (const [index, insert] of batch.inserts.entries()) {
      const settings = {
        ...frozen.settings[index],
        // Its place may be that of another insert, which is missing now.
        ...(insert.key === undefined ? {} : insert.settings),
        insert_deduplication_token: `${frozen.token}:${insert.key ?? index}`,
      };
      const outcome = await this.#insertOne(batch.lane, insert, settings, isRepeated);
      if (outcome === undefined) return;
      if ("kind" in outcome) return await this.#replace(batch, frozen, { ...outcome, insert: index });
      const rows = insert.rows ?? outcome.writtenRows;
      sentRows += rows;
      if (insert.table !== undefined) {
        const name = tableCounter(insert.table);
        tables[name] = (tables[name] ?? 0) + rows;
      }
      sentBytes += outcome.writtenBytes;
    }
    const rejected = batch.rejected ?? [];
    if (rejected.length > 0) {
      const written = await this.#untilPossible(async () => {
        await this.#parts.destination.reject(rejected, `${frozen.token}:rejected:${batch.id}`);
        return true;
      });
      if (written === undefined) return;
    }
    await this.#parts.ledger.confirm({
      batchId: batch.id,
      lane: batch.lane,
      ...(batch.checkpoint === undefined ? {} : { checkpoint: batch.checkpoint }),
      marks: batch.marks ?? {},
      counts: { ...rowCounts(batch, sentRows), ...tables, sentBytes, ...batch.counts },
    });
    await this.#parts.source.acknowledge(batch);
  }

  /** The number of written rows, or why the batch is refused, or undefined when the signal aborted. */
  async #insertOne(lane: string, insert: Insert, settings: EngineSettings, isRepeated: boolean) {
    // Counts only failures that may be the batch's own fault: a killed engine says nothing about the batch.
    let strikes = 0;
    let refusedSince: number | undefined;
    const classify = (error: unknown) => {
      const failure = failureOf(error);
      if (failure.kind === "data" || failure.kind === "source") strikes += 1;
      if (failure.kind === "destination") refusedSince ??= performance.now();
      const isAsked = failure.isMissing === true && !isRepeated;
      if (isAsked || isRefusal(failure, strikes) || (failure.kind === "destination" && this.#isolates(refusedSince))) {
        const kind = failure.kind as InsertFailure["kind"];
        return { kind, code: failure.code, message: sentenceOf(failure) };
      }
      if (failure.kind !== "data") this.#parts.health.badInsert(lane, failure);
      return undefined;
    };
    let crashes: number | undefined;
    const work = async () => {
      // What the engine reads by itself may be what ends it.
      const now = insert.body === undefined ? await this.#parts.destination.crashes() : 0;
      if (now > (crashes ?? now)) return { kind: "crash" as const, code: 0, message: crashMessage };
      crashes = now;
      const summary = await this.#parts.destination.insert(insert, settings, this.#signal);
      this.#parts.health.good(["source", "destination", "service", "engine", "store"]);
      return summary;
    };
    using _ = this.#watched(lane, insert);
    const outcome = await retry(work, { signal: this.#signal, backoff: this.#backoff(), classify });
    this.#parts.health.insertEnded(lane);
    return outcome;
  }

  /** Damaged data can block a reader of the engine for ever, and nothing else would tell of it. */
  #watched(lane: string, { slow }: Insert): Disposable {
    const warn = (message?: string) => this.#parts.health.warn(`slow:${lane}`, message);
    const act = ({ warning, look }: SlowInsert) => {
      warn(warning);
      // The insert itself tells how it ends.
      look(this.#signal).catch(() => {});
    };
    const timer = slow && setTimeout(act, slow.afterMs, slow);
    return {
      [Symbol.dispose]: () => {
        if (timer === undefined) return;
        clearTimeout(timer);
        warn();
      },
    };
  }

  #isolates(refusedSince = performance.now()): boolean {
    const { ownsTables, limits } = this.#parts;
    return ownsTables && performance.now() - refusedSince >= limits.destinationOutageMs * isolatedShare;
  }

  async #replace(batch: Batch<D>, frozen: FrozenBatch<D>, failure: InsertFailure): Promise<void> {
    const instead = await this.#untilPossible(() => this.#parts.source.refused(batch, failure, this.#signal));
    if (instead === undefined) return;
    // The engine has answered: what it was asked for may have ended it before.
    this.#parts.health.good(["service", "engine"]);
    if (instead.includes(batch)) return await this.#insert(batch, frozen, true);
    if (instead.length === 0) throw new PipeFailure(failure.message);
    const plans = instead.map((next) => ({ next, frozen: this.#freeze(next, frozen.since) }));
    await this.#parts.ledger.replace(
      batch.id,
      plans.map((plan) => intentOf(plan.next, plan.frozen)),
    );
    for (const plan of plans) {
      if (!this.#signal.aborted) await this.#insert(plan.next, plan.frozen);
    }
  }

  /** Repeats work that needs the source or the service until it succeeds; undefined when the signal aborted. */
  async #untilPossible<T>(work: () => Promise<T>): Promise<T | undefined> {
    const classify = (error: unknown) => this.#assertPasses(error);
    return await retry(work, { signal: this.#signal, backoff: this.#backoff(), classify });
  }

  /** Outages are waited for. A lost source, unreadable stored state, and a bug of ours fail the pipe. */
  #assertPasses(error: unknown): undefined {
    if (error instanceof PipeFailure) throw error;
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    if (isFinal(error)) throw new PipeFailure(error.message);
    this.#parts.health.bad(failureOf(error));
  }

  #backoff(): Backoff {
    return new Backoff({ baseMs: this.#parts.limits.retryBaseMs, capMs: 30_000 });
  }
}

function isRefusal(failure: Failure, strikes: number): boolean {
  if (failure.kind === "data") return failure.known || strikes >= maxSourceAttempts;
  return failure.kind === "source" && strikes >= maxSourceAttempts;
}

function intentOf<D extends Durable>(batch: Batch<D>, intent: FrozenBatch<D>): Intent<D> {
  return { batchId: batch.id, lane: batch.lane, intent };
}

/** Runs work concurrently, up to a limit, and sequentially within a lane. The first failure ends all. */
export class Lanes {
  readonly #limiter: Limiter;
  readonly #running = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limiter = new Limiter({ slots: Math.max(1, limit) });
  }

  /** Resolves when the work has begun: when its lane and a slot are free. One call at a time. */
  async start(lane: string, work: () => Promise<void>): Promise<void> {
    await this.#running.get(lane);
    this.#throwFailure();
    const leave = await this.#limiter.enter();
    this.#throwFailure();
    const running = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(lane);
        leave();
      });
    this.#running.set(lane, running);
  }

  /** Resolves when nothing runs; throws the first failure. */
  async settle(): Promise<void> {
    await Promise.all(this.#running.values());
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
