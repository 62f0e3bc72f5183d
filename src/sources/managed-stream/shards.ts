/** Reads all shards of this replica side by side into the intake, and begins new ones when their parents are finished. */
import { abortable, sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { RowEncoder } from "../messages/encoder.ts";
import type { BatchLimits } from "../messages/limits.ts";
import type { MessageBatch } from "../messages/message-batch.ts";
import type { Json, SourceContext } from "../source.ts";
import { consumerOf, listen } from "./fan-out.ts";
import { type Intake, ShardIntake } from "./intake.ts";
import type { ManagedStreamConfig } from "./kind.ts";
import { finished, finishedMark, Lineage } from "./lineage.ts";
import { messagesOf, type StreamMessage } from "./message.ts";
import { patiently, poll } from "./polling.ts";
import { spotOf } from "./position.ts";
import type { Start } from "./start.ts";
import { type FanOutApi, type Fetched, type ShardFacts, type StartAt, type StreamApi, StreamError } from "./stream.ts";

const listEveryMs = 10_000;
/** GetRecords calls under way at the same time; an answer has up to 10 MB. */
const callsAtOnce = 8;

export type ShardsParts = {
  readonly config: ManagedStreamConfig;
  readonly context: SourceContext;
  readonly api: StreamApi;
  readonly fanOut: FanOutApi | undefined;
  readonly encoder: RowEncoder<StreamMessage>;
  readonly limits: BatchLimits;
  readonly intake: Intake;
  readonly start: Start;
  readonly checkpoints: ReadonlyMap<string, Json>;
  /** Whether this replica reads the shard. */
  readonly mine: (shard: string) => boolean;
  readonly newBatch: (shard: string) => MessageBatch<StreamMessage>;
};

export class Shards {
  readonly #parts: ShardsParts;
  readonly #signal: AbortSignal;
  readonly #lineage: Lineage;
  readonly #pumps = new Map<string, Promise<void>>();
  readonly #api: StreamApi;
  #listed: readonly ShardFacts[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  #consumer: string | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(parts: ShardsParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    this.#lineage = new Lineage((keys) => parts.context.marks(keys), parts.start);
    this.#api = inTurn(parts.api, parts.intake);
  }

  /** Begins the shards that may be read by now. Asks the stream from time to time, and the ledger every time. */
  async look(): Promise<void> {
    if (Date.now() - this.#listedAt > listEveryMs) await this.#list();
    // Also shards of other replicas: their children may be ours, and not listed yet.
    if (await this.#lineage.learn(this.#listed)) await this.#list();
    for (const shard of this.#signal.aborted ? [] : this.#lineage.readable(this.#listed)) {
      if (!this.#parts.mine(shard.id) || this.#pumps.has(shard.id)) continue;
      if (this.#parts.fanOut !== undefined) this.#consumer ??= await this.#register(this.#parts.fanOut);
      this.#begin(shard.id);
    }
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#pumps.values());
  }

  async #list(): Promise<void> {
    const answer = await patiently(() => this.#parts.api.shards(this.#signal), this.#signal);
    if (answer === undefined) return;
    this.#parts.context.answered();
    this.#listed = answer.shards;
    this.#listedAt = Date.now();
    await this.#dropExpired();
  }

  /** Shards that left the stream before they were read to their end: their records are too old. */
  async #dropExpired(): Promise<void> {
    const { checkpoints, context, mine, config } = this.#parts;
    const listed = new Set(this.#listed.map((shard) => shard.id));
    const gone = [...checkpoints.keys()].filter((id) => mine(id) && !listed.has(id));
    const known = await context.marks(gone.map(finishedMark));
    for (const id of gone.filter((shard) => !known.has(finishedMark(shard)))) {
      const message = "The shard left the stream before it was read to its end; its last records may be missing.";
      await context.reject([{ origin: `${config.streamName}/${id}`, position: "end", message }]);
      await context.note({ [finishedMark(id)]: finished }, { errors: 1 });
    }
  }

  async #register(fanOut: FanOutApi): Promise<string | undefined> {
    const consumer = consumerOf(this.#parts.context.pipeId);
    return await patiently(() => fanOut.register(consumer, this.#signal), this.#signal);
  }

  #begin(id: string): void {
    const { checkpoints, limits, intake, newBatch } = this.#parts;
    const shard = new ShardIntake(id, spotOf(checkpoints.get(id)), limits, () => newBatch(id), intake.changed);
    intake.add(shard);
    const pump = this.#pump(shard).catch((error: unknown) => {
      this.#failure ??= { error: this.#signal.aborted ? error : publicly(error, id) };
      intake.changed();
    });
    this.#pumps.set(id, pump);
  }

  async #pump(shard: ShardIntake): Promise<void> {
    while (!this.#signal.aborted) {
      let ended = false;
      for await (const fetched of this.#answers(shard)) {
        await this.#take(shard, fetched);
        ended = fetched.ended;
      }
      if (this.#signal.aborted) return;
      // The end counts only when the list of shards says the same.
      if (ended) await this.#list();
      if (ended && this.#isClosed(shard.shard)) return shard.end();
      await sleep(1_000, this.#signal);
    }
  }

  #answers(shard: ShardIntake): AsyncIterable<Fetched> {
    const { fanOut, start } = this.#parts;
    const from = (): StartAt => shard.resume ?? start.of(shard.shard);
    if (fanOut === undefined || this.#consumer === undefined) return poll(this.#api, shard.shard, from, this.#signal);
    const parts = { fanOut, consumer: this.#consumer, api: this.#api };
    return listen(parts, shard.shard, from, () => this.#isClosed(shard.shard), this.#signal);
  }

  async #take(shard: ShardIntake, fetched: Fetched): Promise<void> {
    const { context, config, encoder, intake } = this.#parts;
    context.answered();
    for (const record of fetched.records) {
      for (const message of messagesOf(shard.shard, record, config.compression ?? "none")) {
        const prepared = encoder.prepare(message);
        if (prepared !== undefined) await prepared;
        const full = shard.add(message);
        if (full !== undefined) await abortable(full, this.#signal);
        if (this.#signal.aborted) return;
      }
    }
    context.report({ [`millisBehindLatest.${shard.shard}`]: fetched.ended ? 0 : fetched.behindMs });
    await intake.room(this.#signal);
  }

  #isClosed(id: string): boolean {
    const facts = this.#listed.find((shard) => shard.id === id);
    return facts === undefined || facts.closed;
  }
}

/** The same stream with a bound on the calls under way and on what their answers take in memory. */
function inTurn(api: StreamApi, intake: Intake): StreamApi {
  let free = callsAtOnce;
  const waiting: (() => void)[] = [];
  return {
    shards: (signal) => api.shards(signal),
    iterator: (shard, start, signal) => api.iterator(shard, start, signal),
    close: () => api.close(),
    records: async (iterator, limit, signal) => {
      if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      else free -= 1;
      try {
        await intake.room(signal);
        return await api.records(iterator, limit, signal);
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}

function publicly(error: unknown, shard: string): unknown {
  if (!(error instanceof StreamError)) return error;
  return new AppError("SOURCE_INVALID", `The stream does not accept the position in ${shard} any more.`, {
    cause: error,
  });
}
