/** Follows the stream: turns what arrives into batches, at the pace of the destination. */
import type pg from "pg";
import type { Batch as SourceBatch } from "../../source.ts";
import type { PostgresDurable } from "../durable.ts";
import type { SourceServer } from "../kind.ts";
import { type Place, parseLsn, parsePlace, placeText } from "../protocol/lsn.ts";
import type { Message, Relation } from "../protocol/pgoutput.ts";
import type { Names } from "../server/slot.ts";
import { type Barrier, type Gathered, Gatherer, type Limits, type PlanOf, streamBatch } from "./batches.ts";
import { ReplicationStream } from "./stream.ts";

type Batch = SourceBatch<PostgresDurable>;

export type FollowParts = {
  readonly server: SourceServer;
  readonly names: Names;
  /** Of a table that the pipe has; undefined for others. */
  readonly planOf: PlanOf;
  /** True when rows of this relation can be written as the table is now. */
  readonly fits: (relation: Relation) => boolean;
  readonly isOurs: (relation: Relation) => boolean;
  /** Keeps what is then confirmed to the source. */
  readonly remember: (lsn: bigint) => Promise<void>;
};

/** The source tells every few seconds how far its log is. */
const offerPauseMs = 2_000;
const unlimited: Limits = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** Something to do before the stream goes on. Everything before it is durable when the next one is asked for. */
export type Step =
  | { readonly kind: "batch"; readonly batch: Batch }
  | { readonly kind: "barrier"; readonly barrier: Barrier; readonly from: string };

export class Following {
  readonly #parts: FollowParts;
  readonly #gatherer: Gatherer;
  readonly #syncMs: number;
  /** Stops exactly here, when a batch is built again. */
  readonly #until: Place | undefined;
  #stream: ReplicationStream | undefined;
  #barrier: Barrier | undefined;
  #due = false;
  #wanted = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};
  readonly #unconfirmed = new Set<string>();
  /** Changes by kind and table since the worker began to follow. */
  readonly #changes: Record<string, number> = {};
  /** Of the last transaction that was received, in ms. */
  #committedAt = 0;
  #offerAt = 0;

  constructor(parts: FollowParts, from: string, options: { limits?: Limits; syncMs?: number; until?: string } = {}) {
    this.#parts = parts;
    this.#gatherer = new Gatherer(parsePlace(from), options.limits ?? unlimited, parts.planOf);
    this.#syncMs = options.syncMs ?? Number.POSITIVE_INFINITY;
    this.#until = options.until === undefined ? undefined : parsePlace(options.until);
  }

  /** `check` answers where the source goes on, on the connection that is used. */
  async open(check: (client: pg.Client) => Promise<bigint>, signal: AbortSignal): Promise<void> {
    this.#stream = await ReplicationStream.open(
      this.#parts.server,
      this.#parts.names,
      check,
      {
        take: (message) => this.#take(message),
        idle: (walEnd) => this.#idle(walEnd),
        failed: (error) => {
          this.#failure = error;
          this.#wake();
        },
      },
      signal,
    );
  }

  async close(): Promise<void> {
    await this.#stream?.close();
  }

  /** What follows, until the signal aborts. After a barrier call `passed` before asking for more. */
  async *steps(signal: AbortSignal): AsyncGenerator<Step> {
    while (!signal.aborted) {
      await this.#untilDue(signal);
      if (signal.aborted) return;
      const gathered = this.#gatherer.take();
      const barrier = this.#barrier;
      this.#due = false;
      // From here on nothing that follows may be confirmed before this one is.
      const batch = gathered && this.#track(gathered);
      // What arrives while this one is inserted is gathered into the next.
      if (barrier === undefined) this.#stream?.resume();
      if (batch !== undefined) yield { kind: "batch", batch };
      if (barrier === undefined) continue;
      yield { kind: "barrier", barrier, from: placeText(this.#gatherer.at) };
      this.#barrier = undefined;
      this.#gatherer.pass(barrier);
      this.#stream?.resume();
    }
  }

  /** The one batch up to the place that was asked for. */
  async exactly(signal: AbortSignal): Promise<Gathered | undefined> {
    await this.#untilDue(signal);
    return this.#gatherer.take();
  }

  acknowledge(batch: Batch): void {
    this.#unconfirmed.delete(batch.id);
    const { replay } = batch;
    const end = replay.kind === "changes" ? replay.end : undefined;
    if (end !== undefined) this.#stream?.confirm(parseLsn(end));
  }

  /** How far the destination is behind what has been received, and what has been changed so far. */
  gauges(): Readonly<Record<string, number>> {
    const lag = this.#isIdle() || this.#committedAt === 0 ? 0 : Math.max(0, Date.now() - this.#committedAt) / 1000;
    return { ...this.#changes, lagSeconds: lag };
  }

  /** Until this batch is acknowledged nothing behind it is confirmed to the source. */
  awaits(batch: Batch): Batch {
    this.#unconfirmed.add(batch.id);
    return batch;
  }

  #track(gathered: Gathered): Batch {
    const batch = this.awaits(streamBatch(gathered));
    for (const [name, count] of Object.entries(gathered.changes)) {
      this.#changes[name] = (this.#changes[name] ?? 0) + count;
    }
    return batch;
  }

  #take(message: Message): boolean {
    if (this.#until !== undefined && message.kind === "begin" && message.finalLsn > this.#until.lsn)
      return this.#stop();
    if (message.kind === "commit") this.#committedAt = Number(message.time / 1000n);
    const barrier = this.#gatherer.push(message);
    if (barrier !== undefined && !this.#passes(barrier)) {
      this.#barrier = barrier;
      return this.#stop();
    }
    if (this.#until !== undefined) return placeText(this.#gatherer.at) === placeText(this.#until) ? this.#stop() : true;
    if (message.kind === "commit" && this.#isIdle()) this.#offer(message.endLsn);
    return this.#gatherer.full || this.#overdue() ? this.#stop() : true;
  }

  /**
   * A relation that says nothing new needs no pause. One that is told again may have changed in what the message does
   * not say. Within a batch that is built again nothing can have changed.
   */
  #passes(barrier: Barrier): boolean {
    if (barrier.kind !== "relation") return false;
    const { relation } = barrier;
    const isNew = this.#gatherer.knows(relation.oid) || !this.#parts.fits(relation);
    if (isNew && this.#until === undefined && this.#parts.isOurs(relation)) return false;
    this.#gatherer.pass(barrier);
    return true;
  }

  /** Nothing before this position is still to come. */
  #idle(walEnd: bigint): void {
    if (this.#until !== undefined) {
      if (walEnd > this.#until.lsn && !this.#gatherer.within) this.#stop();
    } else if (this.#isIdle()) this.#offer(walEnd);
  }

  /** Everything before this position is dealt with. It is remembered before it is confirmed, now and then. */
  #offer(lsn: bigint): void {
    const stream = this.#stream;
    if (stream === undefined || lsn <= stream.confirmed || Date.now() < this.#offerAt) return;
    this.#offerAt = Date.now() + offerPauseMs;
    this.#gatherer.settle(lsn);
    // What cannot be remembered now is offered again.
    this.#parts.remember(lsn).then(
      () => stream.confirm(lsn),
      () => {},
    );
  }

  #stop(): false {
    this.#due = true;
    this.#wake();
    return false;
  }

  /** Time is up and somebody waits for the batch. A transaction is gathered to its end. */
  #overdue(): boolean {
    const { openedAt, within } = this.#gatherer;
    return this.#wanted && !within && openedAt !== undefined && Date.now() - openedAt >= this.#syncMs;
  }

  #isIdle(): boolean {
    const { openedAt, within } = this.#gatherer;
    return openedAt === undefined && !within && this.#unconfirmed.size === 0;
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort);
    this.#wanted = true;
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#due || signal.aborted || this.#overdue()) return;
        const { openedAt } = this.#gatherer;
        const left = openedAt === undefined ? this.#syncMs : openedAt + this.#syncMs - Date.now();
        await this.#sleep(Math.min(Math.max(left, 10), 1_000));
      }
    } finally {
      this.#wanted = false;
      signal.removeEventListener("abort", onAbort);
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
