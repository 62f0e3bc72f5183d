/** Reads all shards of this replica concurrently into batches, and begins new ones when their parents are finished. */
import { childOf, sleep } from "../../../lib/abort.ts";
import { AppError, publicMessage } from "../../../lib/errors.ts";
import { Limiter } from "../../../lib/limiter.ts";
import { marks } from "../../contract/marks.ts";
import { ownName } from "../../contract/own-objects.ts";
import type { SourceContext } from "../../contract/source.ts";
import type { RowEncoder } from "../../messages/formats/encoder.ts";
import type { LaneBatches } from "../../messages/lane-batches.ts";
import type { KinesisDurable } from "../declaration/durable.ts";
import type { ManagedStreamConfig } from "../declaration/kind.ts";
import { messagesOf, type StreamMessage } from "../records/message.ts";
import {
  type FanOutApi,
  type FetchedRecords,
  type ShardFacts,
  type StartAt,
  type StreamApi,
  StreamError,
} from "../stream.ts";
import { listen } from "./fan-out.ts";
import { maxRecords, poll, withThrottleRetries } from "./polling.ts";
import { compareSequences, isBehind, sequenceOf, startAfter } from "./position.ts";
import { circleOf, finished, finishedMark, ShardLineage } from "./shard-lineage.ts";
import type { ShardStart } from "./start.ts";

const listEveryMs = 10_000;
/** Interval of checks for shards that other replicas finish. */
const lookEveryMs = 1_000;
/** Concurrent GetRecords calls; a response has up to 10 MB. */
const callsAtOnce = 8;
/** Payload added between two checks of the remaining memory. */
const roomEveryBytes = 1_000_000;
/** A shard that is this late has a backlog. */
const backlogMs = 10_000;

/** The position of a lane whose shard has ended. */
export const shardEnd = "end";

export type ShardsParts = {
  readonly config: ManagedStreamConfig;
  readonly context: SourceContext<KinesisDurable>;
  readonly api: StreamApi;
  readonly fanOut: FanOutApi | undefined;
  readonly encoder: RowEncoder<StreamMessage>;
  readonly batches: LaneBatches<StreamMessage>;
  readonly start: ShardStart;
  readonly checkpoints: ReadonlyMap<string, string>;
  /** True when this replica reads the shard. */
  readonly mine: (shard: string) => boolean;
};

/** A shard that is being read; `at` is the position after everything read from it. */
type Reading = { readonly id: string; at: string | undefined; behindMs?: number; answers?: true };

export class Shards {
  readonly #parts: ShardsParts;
  readonly #signal: AbortSignal;
  readonly #shardLineage: ShardLineage;
  readonly #pumps = new Map<string, Promise<void>>();
  readonly #api: StreamApi;
  #listed: readonly ShardFacts[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  #consumer: string | undefined;
  #lookNow: () => void = () => {};

  constructor(parts: ShardsParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    this.#shardLineage = new ShardLineage((keys) => parts.context.ledger.marks(keys), parts.start);
    this.#api = limited(parts.api);
  }

  /** Reads until the signal aborts. Errors are passed to the batches. */
  async run(): Promise<void> {
    try {
      while (!this.#signal.aborted) {
        await this.#look();
        using pause = childOf(this.#signal);
        this.#lookNow = () => pause.abort();
        await sleep(lookEveryMs, pause.signal);
      }
    } catch (error) {
      this.#fail(error);
    }
    await Promise.all(this.#pumps.values());
  }

  /** Called when a shard's end is durable: its children may begin. */
  finished(): void {
    this.#lookNow();
  }

  /** Begins the shards that may be read by now. Lists the stream occasionally, and reads the ledger every time. */
  async #look(): Promise<void> {
    if (performance.now() - this.#listedAt > listEveryMs) await this.#list();
    // Also shards of other replicas: their children may be ours, and not listed yet.
    if (await this.#shardLineage.learn(this.#listed)) await this.#list();
    for (const { id } of this.#signal.aborted ? [] : this.#shardLineage.readable(this.#listed)) {
      if (!this.#parts.mine(id) || this.#pumps.has(id)) continue;
      if (this.#parts.fanOut !== undefined) this.#consumer ??= await this.#register(this.#parts.fanOut);
      const at = this.#parts.checkpoints.get(id);
      this.#pumps.set(
        id,
        this.#pump({ id, at }).catch((error: unknown) => this.#failed(id, publicly(error, id))),
      );
    }
  }

  /** The pipe shows the error until the shard itself answers: a list of shards that works hides nothing. */
  #failed(shard: string, error: unknown): void {
    if (!this.#signal.aborted) {
      this.#parts.context.progress.warn(shardKey(shard), `Shard ${shard} cannot be read: ${publicMessage(error)}`);
    }
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (!this.#signal.aborted) this.#parts.batches.fail(error);
  }

  async #list(): Promise<void> {
    const answer = await withThrottleRetries(() => this.#parts.api.shards(this.#signal), this.#signal);
    if (answer === undefined) return;
    const circle = circleOf(answer.shards);
    if (circle !== undefined) {
      const text = `Stream "${this.#parts.config.streamName}" lists shard ${circle} among its own ancestors.`;
      throw new AppError("SOURCE_INVALID", text);
    }
    await this.#requireSameStream(answer.shards);
    this.#parts.context.progress.answered();
    this.#listed = answer.shards;
    this.#listedAt = performance.now();
    await this.#dropExpired();
  }

  /** The shards of a stream that is made again have the ids of those that the pipe has read, and begin later. */
  async #requireSameStream(listed: readonly ShardFacts[]): Promise<void> {
    const { checkpoints, context, config } = this.#parts;
    const open = listed.filter((shard) => !shard.closed);
    const ended = await context.ledger.marks(open.map(({ id }) => finishedMark(id)));
    const other = listed.find(({ id, closed, first }) => {
      const read = checkpoints.get(id);
      const isLater = read !== undefined && first !== undefined && compareSequences(first, sequenceOf(read)) > 0;
      return isLater || (!closed && (ended.has(finishedMark(id)) || this.#parts.start.isBefore(id)));
    });
    if (other === undefined) return;
    const text = `Stream "${config.streamName}" was deleted and created again: its ${other.id} is another shard.`;
    throw new AppError("SOURCE_INVALID", `${text} Resync the pipe to read the new stream from its start.`);
  }

  /** Shards that left the stream before they were read completely: their records have expired. */
  async #dropExpired(): Promise<void> {
    const { checkpoints, context, mine, config } = this.#parts;
    const listed = new Set(this.#listed.map((shard) => shard.id));
    const missing = [...checkpoints.keys()].filter((id) => mine(id) && !listed.has(id));
    const known = await context.ledger.marks(missing.map(finishedMark));
    for (const id of missing.filter((shard) => !known.has(finishedMark(shard)))) {
      if (!(await this.#isGone(id))) continue;
      const message = "The shard left the stream before it was read to its end; its last records may be missing.";
      await context.ledger.reject([{ origin: `${config.streamName}/${id}`, position: shardEnd, message, rows: 0 }]);
      await context.ledger.note(marks([finishedMark(id), finished]), { errors: 1 });
      context.progress.warn(shardKey(id));
    }
  }

  /** Checked in addition to the list, because giving up a shard by mistake would lose its records. */
  async #isGone(id: string): Promise<boolean> {
    try {
      await withThrottleRetries(() => this.#parts.api.iterator(id, { from: "horizon" }, this.#signal), this.#signal);
      return false;
    } catch (error) {
      if (error instanceof StreamError && error.reason === "gone") return true;
      throw error;
    }
  }

  async #register(fanOut: FanOutApi): Promise<string | undefined> {
    const consumer = ownName(this.#parts.context.pipeId);
    return await withThrottleRetries(() => fanOut.register(consumer, this.#signal), this.#signal);
  }

  async #pump(shard: Reading): Promise<void> {
    while (!this.#signal.aborted) {
      let ended = false;
      for await (const fetched of this.#answers(shard)) {
        await this.#take(shard, fetched);
        ended = fetched.ended;
      }
      if (this.#signal.aborted) return;
      // The end counts only when the list of shards confirms it.
      if (ended) await this.#list();
      if (ended && this.#isClosed(shard.id)) return this.#parts.batches.finish(shard.id, shardEnd);
      await sleep(lookEveryMs, this.#signal);
    }
  }

  #answers(shard: Reading): AsyncIterable<FetchedRecords> {
    const { fanOut, start } = this.#parts;
    const from = (): StartAt => (shard.at === undefined ? start.of(shard.id) : startAfter(shard.at));
    if (fanOut === undefined || this.#consumer === undefined) return poll(this.#api, shard.id, from, this.#signal);
    const parts = { fanOut, consumer: this.#consumer, api: this.#api };
    return listen(parts, shard.id, from, () => this.#isClosed(shard.id), this.#signal);
  }

  /** Adds the records, and waits for room before more is read. */
  async #take(shard: Reading, { records, ended, behindMs }: FetchedRecords): Promise<void> {
    const { context, config, encoder, batches } = this.#parts;
    context.progress.answered();
    // Also of an earlier attempt.
    if (shard.answers === undefined) context.progress.warn(shardKey(shard.id));
    shard.answers = true;
    this.#report(shard, ended ? 0 : behindMs);
    let unchecked = 0;
    for (const record of records) {
      for (const message of messagesOf(shard.id, record, config.compression ?? "none")) {
        if (shard.at !== undefined && !isBehind(message.position, shard.at)) continue;
        const prepared = encoder.prepare(message);
        if (prepared !== undefined) await prepared;
        batches.add(shard.id, message, message.next);
        shard.at = message.next;
        unchecked += message.end;
        if (unchecked < roomEveryBytes) continue;
        unchecked = 0;
        await this.#room(shard.id);
        if (this.#signal.aborted) return;
      }
    }
    // A stream tells how old the next record is, and not how many there are.
    const hasBacklog = behindMs >= backlogMs || records.length >= maxRecords;
    batches.answered(shard.id, hasBacklog ? Number.POSITIVE_INFINITY : behindMs);
    batches.added();
    await this.#room(shard.id);
  }

  #report(shard: Reading, behindMs: number): void {
    if (shard.behindMs === behindMs) return;
    shard.behindMs = behindMs;
    this.#parts.context.progress.report({ [`millisBehindLatest:${shard.id}`]: behindMs });
  }

  async #room(id: string): Promise<void> {
    const { batches } = this.#parts;
    while (!batches.hasRoom(id) && !this.#signal.aborted) await batches.change(lookEveryMs, this.#signal);
  }

  #isClosed(id: string): boolean {
    const facts = this.#listed.find((shard) => shard.id === id);
    return facts === undefined || facts.closed;
  }
}

/** The same stream with a bound on concurrent responses. */
function limited(api: StreamApi): StreamApi {
  const calls = new Limiter({ slots: callsAtOnce });
  return {
    shards: (signal) => api.shards(signal),
    iterator: (shard, start, signal) => api.iterator(shard, start, signal),
    close: () => api.close(),
    records: (iterator, limit, signal) => calls.run(() => api.records(iterator, limit, signal), signal),
  };
}

function shardKey(shard: string): string {
  return `shard:${shard}`;
}

function publicly(error: unknown, shard: string): unknown {
  if (!(error instanceof StreamError)) return error;
  return new AppError("SOURCE_INVALID", `The stream no longer accepts the position in ${shard}.`, {
    cause: error,
  });
}
