/**
 * What was read from the shards and not yet handed out. Every shard fills one batch at a time and waits while a full one
 * has not been taken, so that memory is bounded whatever the streams hold.
 */
import { childOf, sleep } from "../../lib/abort.ts";
import type { BatchLimits } from "../messages/limits.ts";
import type { MessageBatch } from "../messages/message-batch.ts";
import type { StreamMessage } from "./message.ts";
import { compareSpots, type Range, type Spot, startAfter } from "./position.ts";
import type { StartAt } from "./stream.ts";

/** A batch of a shard that is being filled or waits to be inserted. */
export type Filled = Range & { readonly shard: string; readonly messages: MessageBatch<StreamMessage> };

type Open = {
  readonly first: Spot;
  last: Spot;
  readonly messages: MessageBatch<StreamMessage>;
  readonly since: number;
};

export class ShardIntake {
  readonly shard: string;
  readonly #limits: BatchLimits;
  readonly #make: () => MessageBatch<StreamMessage>;
  readonly #changed: () => void;
  #spot: Spot | undefined;
  #open: Open | undefined;
  #full: Filled | undefined;
  #taken = Promise.withResolvers<void>();
  /** Bytes of batches handed out and not yet durable. */
  #inHand = 0;
  /** A batch of this shard is being inserted. */
  busy = false;
  /** The shard has nothing more: `handedEnd` once the source was told so. */
  ended = false;
  handedEnd = false;

  constructor(
    shard: string,
    spot: Spot | undefined,
    limits: BatchLimits,
    make: () => MessageBatch<StreamMessage>,
    changed: () => void,
  ) {
    this.shard = shard;
    this.#spot = spot;
    this.#limits = limits;
    this.#make = make;
    this.#changed = changed;
  }

  /** Where reading goes on; undefined when nothing of the shard was read yet. */
  get resume(): StartAt | undefined {
    return this.#spot === undefined ? undefined : startAfter(this.#spot);
  }

  get bytes(): number {
    return this.#inHand + (this.#open?.messages.bytes ?? 0) + (this.#full?.messages.bytes ?? 0);
  }

  /** When the open batch becomes old enough to be handed out. */
  get dueAt(): number {
    return this.#open === undefined ? Number.POSITIVE_INFINITY : this.#open.since + this.#limits.maxWaitMs;
  }

  /** Adds a message that is not known yet; what it returns is to be waited for before the next one. */
  add(message: StreamMessage): Promise<void> | undefined {
    const { spot } = message;
    if (this.#spot !== undefined && compareSpots(spot, this.#spot) <= 0) return undefined;
    this.#spot = spot;
    if (this.#open === undefined) {
      this.#open = { first: spot, last: spot, messages: this.#make(), since: Date.now() };
      this.#changed();
    }
    const { messages } = this.#open;
    this.#open.last = spot;
    messages.add(message);
    if (messages.size < this.#limits.maxRows && messages.bytes < this.#limits.maxBytes) return undefined;
    const full = this.#close();
    const before = this.#full === undefined ? undefined : this.#taken.promise;
    if (before === undefined) {
      this.#full = full;
      this.#changed();
      return undefined;
    }
    return before.then(() => {
      this.#full = full;
      this.#changed();
    });
  }

  end(): void {
    this.ended = true;
    this.#changed();
  }

  /** The next batch, if one is full, old enough, or the last one. `pressed`: memory is short, so an open one goes too. */
  take(now: number, pressed: boolean): Filled | undefined {
    let next = this.#full;
    if (next !== undefined) {
      this.#full = undefined;
      this.#taken.resolve();
      this.#taken = Promise.withResolvers();
    } else if (this.#open !== undefined && (this.dueAt <= now || this.ended || pressed)) next = this.#close();
    if (next !== undefined) this.#inHand += next.messages.bytes;
    return next;
  }

  /** The batches handed out are durable. */
  settled(): void {
    this.busy = false;
    this.#inHand = 0;
    this.#changed();
  }

  get isEmpty(): boolean {
    return this.#open === undefined && this.#full === undefined;
  }

  #close(): Filled {
    const { first, last, messages } = this.#open as Open;
    this.#open = undefined;
    return { shard: this.shard, first, last, messages };
  }
}

/** The intakes of all shards that are being read, and the bound on what they hold together. */
export class Intake {
  readonly #limits: BatchLimits;
  readonly #shards = new Map<string, ShardIntake>();
  #wake: () => void = () => {};
  #waiting = 0;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  readonly changed = (): void => this.#wake();

  add(shard: ShardIntake): void {
    this.#shards.set(shard.shard, shard);
  }

  get(shard: string): ShardIntake | undefined {
    return this.#shards.get(shard);
  }

  remove(shard: string): void {
    this.#shards.delete(shard);
  }

  /** A shard that has a batch to hand out, and the batch: the shard that waits longest first. */
  next(): { readonly shard: ShardIntake; readonly filled: Filled | undefined } | undefined {
    const now = Date.now();
    const pressed = this.#waiting > 0;
    for (const shard of [...this.#shards.values()].sort((a, b) => a.dueAt - b.dueAt)) {
      if (shard.busy || shard.handedEnd) continue;
      const filled = shard.take(now, pressed);
      if (filled !== undefined || (shard.ended && shard.isEmpty)) return { shard, filled };
    }
    return undefined;
  }

  /** Until something has changed, or an open batch is due, or `untilMs` is reached. */
  async wait(untilMs: number, signal: AbortSignal): Promise<void> {
    const due = [...this.#shards.values()].filter((shard) => !shard.busy).map((shard) => shard.dueAt);
    const ms = Math.max(1, Math.min(untilMs, ...due) - Date.now());
    using nap = childOf(signal);
    this.#wake = () => nap.abort();
    await sleep(ms, nap.signal);
  }

  /** Until there is room for more. */
  async room(signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    try {
      for (; !signal.aborted && this.#held() >= this.#limits.memoryBytes; await sleep(20, signal)) this.changed();
    } finally {
      this.#waiting -= 1;
    }
  }

  #held(): number {
    let sum = 0;
    for (const shard of this.#shards.values()) sum += shard.bytes;
    return sum;
  }
}
