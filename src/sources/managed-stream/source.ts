/**
 * A stream as batches. A shard is a lane; a batch is a range of its records, identified by its first and last position,
 * so that a replay reads exactly that range again. The last batch of a closed shard is an empty one that marks the
 * shard as finished: only then are its children begun, by whichever replica owns them.
 */
import { childOf } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import { marks } from "../contract/marks.ts";
import type { InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../contract/source.ts";
import { factsOf } from "../messages/facts.ts";
import type { RowEncoder } from "../messages/formats/encoder.ts";
import { type BatchStart, type Closed, LaneBatches } from "../messages/lane-batches.ts";
import type { BatchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { byReason, decideRefusal, type Refused, refusedOf } from "../messages/refusals.ts";
import type { KinesisDurable, RangeReplay } from "./declaration/durable.ts";
import type { ManagedStreamConfig } from "./declaration/kind.ts";
import { readRange } from "./reading/polling.ts";
import { isWithin, rangeText, sequenceOf } from "./reading/position.ts";
import { finished, finishedMark } from "./reading/shard-lineage.ts";
import { Shards, shardEnd } from "./reading/shards.ts";
import { frozenStart, type ShardStart } from "./reading/start.ts";
import { kinesisVirtualColumns, maxMessageBytes, messagesOf, type StreamMessage } from "./records/message.ts";
import { type FanOutApi, type StreamApi, StreamError } from "./stream.ts";

type Batch = SourceBatch<KinesisDurable>;
type Context = SourceContext<KinesisDurable>;

export type StreamSourceParts = {
  readonly config: ManagedStreamConfig;
  readonly context: Context;
  readonly api: StreamApi;
  readonly fanOut: (FanOutApi & { close(): void }) | undefined;
  readonly encoder: RowEncoder<StreamMessage>;
  readonly limits: BatchLimits;
};

export class StreamSource implements Source<KinesisDurable> {
  readonly #parts: StreamSourceParts;
  /** Rows of the batches in progress, which are searched when one is refused. */
  readonly #messages = new WeakMap<Batch, MessageBatch<StreamMessage>>();
  #start: ShardStart | undefined;
  #batches: LaneBatches<StreamMessage> | undefined;
  #shards: Shards | undefined;

  constructor(parts: StreamSourceParts) {
    this.#parts = parts;
  }

  async *read(checkpoints: ReadonlyMap<string, string>, signal: AbortSignal): AsyncIterable<Batch> {
    const { context, config, api, fanOut, encoder, limits } = this.#parts;
    this.#start ??= await frozenStart(config, context, api, signal);
    if (this.#start === undefined) return;
    using reading = childOf(signal);
    const batches = new LaneBatches<StreamMessage>(limits, (shard, start) => this.#newBatch(shard, start));
    const mine = (shard: string) => assignedWorker(shard, context.replica.count) === context.replica.index;
    const shards = new Shards(
      { config, context, api, fanOut, encoder, batches, start: this.#start, checkpoints, mine },
      reading.signal,
    );
    this.#batches = batches;
    this.#shards = shards;
    const running = shards.run();
    try {
      for (let next = await batches.next(signal); next !== undefined; next = await batches.next(signal)) {
        yield this.#closed(next);
      }
    } finally {
      reading.abort();
      await running;
    }
  }

  async replay(saved: KinesisDurable["replay"], signal: AbortSignal): Promise<Batch> {
    return "end" in saved ? this.#endBatch(saved.shard) : await this.#rebuild(saved, signal);
  }

  async refused(batch: Batch, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch[]> {
    const saved = batch.replay;
    const messages = this.#messages.get(batch);
    if (messages === undefined || "end" in saved) return [];
    const { encoder, context } = this.#parts;
    const answer = await decideRefusal(
      messages,
      encoder.plan,
      refusedOf(saved.refused),
      failure,
      context.destination.query,
    );
    if (answer.kind === "stop") return [];
    if (answer.kind === "without") {
      const attempt = (saved.attempt ?? 0) + 1;
      return [await this.#rebuild({ ...saved, refused: byReason(answer.refused), attempt }, signal)];
    }
    const middle = String(answer.lastOfFirst);
    const { attempt: _, ...range } = saved;
    const halves: RangeReplay[] = [
      { ...range, last: middle },
      { ...range, first: middle, after: true },
    ];
    return await Promise.all(halves.map((half) => this.#rebuild(half, signal)));
  }

  async acknowledge(batch: Batch): Promise<void> {
    this.#batches?.done(batch.lane);
    if ("end" in batch.replay) this.#shards?.finished();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.api.close();
    this.#parts.fanOut?.close();
  }

  #closed({ lane, batch, next }: Closed<StreamMessage>): Batch {
    if (next === shardEnd) return this.#endBatch(lane);
    return this.#batch({ shard: lane, first: String(batch.first), last: String(next) }, batch);
  }

  /** Reads the range again. If the stream no longer has all of it, the rest is loaded under the same token. */
  async #rebuild(saved: RangeReplay, signal: AbortSignal): Promise<Batch> {
    const { api, config, encoder } = this.#parts;
    const { shard, first, last } = saved;
    const messages = this.#newBatch(shard, undefined, refusedOf(saved.refused));
    const [from, to] = [sequenceOf(first), sequenceOf(last)];
    let begin: string | undefined;
    try {
      for await (const records of readRange(api, shard, from, to, signal)) {
        begin ??= records[0]?.sequence;
        for (const record of records) {
          for (const message of messagesOf(shard, record, config.compression ?? "none")) {
            if (!isWithin(message.position, saved)) continue;
            const prepared = encoder.prepare(message);
            if (prepared !== undefined) await prepared;
            messages.add(message);
          }
        }
      }
    } catch (error) {
      if (!(error instanceof StreamError && error.reason === "gone")) throw error;
    }
    signal.throwIfAborted();
    if (begin !== from || messages.last === undefined || sequenceOf(String(messages.last)) !== to) {
      const position = rangeText(saved);
      messages.rejected.push({ origin: this.#origin(shard), position, message: trimmedMessage, rows: 0 });
    }
    return this.#batch(saved, messages);
  }

  #batch(saved: RangeReplay, messages: MessageBatch<StreamMessage>): Batch {
    const { shard, last, attempt = 0 } = saved;
    const original = `${this.#parts.config.streamName}:${shard}:${rangeText(saved)}`;
    const batch: Batch = {
      lane: shard,
      id: attempt === 0 ? original : `${original}~${attempt}`,
      ...(attempt === 0 ? {} : { continues: original }),
      replay: saved,
      checkpoint: last,
      inserts: messages.inserts(),
      rejected: messages.rejected,
      skippedRows: messages.skippedRows,
      counts: { fetchedBytes: messages.payloadBytes },
    };
    this.#messages.set(batch, messages);
    return batch;
  }

  /** Durable when everything before it is, because batches of a lane are sequential. */
  #endBatch(shard: string): Batch {
    return {
      lane: shard,
      id: `${this.#parts.config.streamName}:${shard}:${shardEnd}`,
      replay: { shard, end: true },
      inserts: [],
      marks: marks([finishedMark(shard), finished]),
    };
  }

  #newBatch(shard: string, start?: BatchStart, refused: Refused = new Map()): MessageBatch<StreamMessage> {
    const { encoder, config } = this.#parts;
    const columns = kinesisVirtualColumns(config.streamName);
    // The bytes of a message that cannot be unpacked are not its payload.
    const facts = (message: StreamMessage) => (message.problem === undefined ? factsOf(columns, message) : undefined);
    const origin = this.#origin(shard);
    return new MessageBatch({ encoder, origin, maxMessageBytes, refused, factsOf: facts, ...start });
  }

  #origin(shard: string): string {
    return `${this.#parts.config.streamName}/${shard}`;
  }
}

const trimmedMessage =
  "The stream no longer has all of these records, so that an interrupted insert could not be repeated completely.";
