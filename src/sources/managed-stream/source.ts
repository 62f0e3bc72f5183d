/**
 * A stream as batches. A shard is a lane; a batch is a range of its records, named by its first and last sequence
 * number, so that a replay reads exactly that range again. The last batch of a closed shard is an empty one that marks
 * the shard as finished: only then are its children begun, by whichever replica owns them.
 */
import { type ChildAbort, childOf } from "../../lib/abort.ts";
import { shareOf } from "../../lib/share.ts";
import { findBadMessages } from "../messages/bad-rows.ts";
import type { RowEncoder } from "../messages/encoder.ts";
import type { BatchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import type { Batch, InsertFailure, Json, JsonObject, Source, SourceContext } from "../source.ts";
import { Intake } from "./intake.ts";
import type { ManagedStreamConfig } from "./kind.ts";
import { finished, finishedMark } from "./lineage.ts";
import { maxMessageBytes, messagesOf, type StreamMessage } from "./message.ts";
import { readRange } from "./polling.ts";
import { compareSpots, type Range, spotText } from "./position.ts";
import { Shards } from "./shards.ts";
import { type Start, startOf } from "./start.ts";
import { type FanOutApi, type StreamApi, StreamError } from "./stream.ts";

/** How often children of shards that other replicas read are looked at. */
const lookEveryMs = 1_000;

type Replay = { readonly shard: string } & (
  | (Range & {
      readonly id: string;
      /** Messages that the engine refused, with the reason. */
      readonly refused?: Readonly<Record<string, string>>;
      readonly attempt?: number;
    })
  | { readonly end: true }
);
type RangeReplay = Extract<Replay, Range>;

export type SourceParts = {
  readonly config: ManagedStreamConfig;
  readonly context: SourceContext;
  readonly api: StreamApi & { close(): void };
  readonly fanOut: (FanOutApi & { close(): void }) | undefined;
  readonly encoder: RowEncoder<StreamMessage>;
  readonly limits: BatchLimits;
};

export class StreamSource implements Source {
  readonly #parts: SourceParts;
  /** Rows of the batches in hand: what a refused one is looked through for. */
  readonly #messages = new WeakMap<Batch, MessageBatch<StreamMessage>>();
  #start: Start | undefined;
  #intake: Intake | undefined;

  constructor(parts: SourceParts) {
    this.#parts = parts;
  }

  async *read(checkpoints: ReadonlyMap<string, Json>, signal: AbortSignal): AsyncIterable<Batch> {
    const { context, config, api, limits } = this.#parts;
    this.#start ??= await startOf(config, context, api, signal);
    if (this.#start === undefined) return;
    const intake = new Intake(limits);
    this.#intake = intake;
    using reading: ChildAbort = childOf(signal);
    const mine = (shard: string) => shareOf(shard, context.replica.count) === context.replica.index;
    const shards = new Shards(
      { ...this.#parts, intake, mine, start: this.#start, checkpoints, newBatch: (shard) => this.#newBatch(shard) },
      reading.signal,
    );
    try {
      while (!signal.aborted) {
        await shards.look();
        for (let next = intake.next(); next !== undefined && !signal.aborted; next = intake.next()) {
          const { shard, filled } = next;
          shard.busy = true;
          if (filled === undefined) shard.handedEnd = true;
          yield filled === undefined ? this.#endBatch(shard.shard) : this.#batch(filled, filled.messages);
        }
        shards.throwIfFailed();
        await intake.wait(Date.now() + lookEveryMs, signal);
      }
    } finally {
      reading.abort();
      await shards.stopped();
    }
  }

  async replay(replay: JsonObject, signal: AbortSignal): Promise<Batch> {
    const saved = replay as unknown as Replay;
    if ("end" in saved) return this.#endBatch(saved.shard);
    return await this.#rebuild(saved, signal);
  }

  async refused(batch: Batch, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch[]> {
    const saved = batch.replay as unknown as RangeReplay;
    const messages = this.#messages.get(batch);
    if (messages === undefined || failure.kind !== "data") return [];
    const { encoder, context } = this.#parts;
    const attempt = (saved.attempt ?? 0) + 1;
    const bad = await findBadMessages(messages, encoder.plan, failure, attempt > 1, context.query);
    if (bad.size === 0) return [];
    const refused = { ...saved.refused, ...Object.fromEntries(bad) };
    return [await this.#rebuild({ ...saved, refused, attempt }, signal)];
  }

  async acknowledge(batch: Batch): Promise<void> {
    const intake = this.#intake?.get(batch.lane);
    intake?.settled();
    if (intake?.handedEnd === true) this.#intake?.remove(batch.lane);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.api.close();
    this.#parts.fanOut?.close();
  }

  /** The range read again. Where the stream no longer has all of it, the rest is loaded under the same token. */
  async #rebuild(saved: RangeReplay, signal: AbortSignal): Promise<Batch> {
    const { api, config, encoder } = this.#parts;
    const messages = this.#newBatch(saved.shard, new Map(Object.entries(saved.refused ?? {})));
    const within = ({ spot }: StreamMessage) =>
      compareSpots(spot, saved.first) >= 0 && compareSpots(spot, saved.last) <= 0;
    try {
      for await (const records of readRange(api, saved.shard, saved.first.sequence, saved.last.sequence, signal)) {
        for (const record of records) {
          for (const message of messagesOf(saved.shard, record, config.compression ?? "none").filter(within)) {
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
    if (messages.first !== spotText(saved.first) || messages.last !== spotText(saved.last)) {
      messages.rejected.push({
        origin: this.#origin(saved.shard),
        position: rangeText(saved),
        message: trimmedMessage,
      });
    }
    return this.#batch(saved, messages, saved);
  }

  #batch(
    { shard, first, last }: Range & { shard: string },
    messages: MessageBatch<StreamMessage>,
    saved?: RangeReplay,
  ) {
    const original = saved?.id ?? `${this.#parts.config.streamName}:${shard}:${rangeText({ first, last })}`;
    const attempt = saved?.attempt ?? 0;
    const refused = saved?.refused === undefined ? {} : { refused: saved.refused, attempt };
    const batch: Batch = {
      lane: shard,
      id: attempt === 0 ? original : `${original}~${attempt}`,
      ...(attempt === 0 ? {} : { continues: original }),
      replay: { shard, first, last, id: original, ...refused } satisfies RangeReplay as unknown as JsonObject,
      checkpoint: last as unknown as Json,
      inserts: messages.inserts(),
      counts: {
        fetchedRows: messages.messages,
        fetchedBytes: messages.payloadBytes,
        errors: messages.rejected.length,
      },
      rejected: messages.rejected,
    };
    this.#messages.set(batch, messages);
    return batch;
  }

  /** Durable when everything before it is, because batches of a lane follow each other. */
  #endBatch(shard: string): Batch {
    return {
      lane: shard,
      id: `${this.#parts.config.streamName}:${shard}:end`,
      replay: { shard, end: true },
      inserts: [],
      marks: { [finishedMark(shard)]: finished },
    };
  }

  #newBatch(shard: string, refused: ReadonlyMap<string, string> = new Map()): MessageBatch<StreamMessage> {
    const { encoder } = this.#parts;
    return new MessageBatch({ encoder, origin: this.#origin(shard), maxMessageBytes, refused });
  }

  #origin(shard: string): string {
    return `${this.#parts.config.streamName}/${shard}`;
  }
}

const trimmedMessage =
  "The stream no longer has all of these records, so that an interrupted insert could not be repeated completely.";

function rangeText({ first, last }: Range): string {
  return `${spotText(first)}-${spotText(last)}`;
}
