/** Follows the stream: turns what arrives into batches, at the pace of the destination. */
import type pg from "pg";
import type { Batch as SourceBatch } from "../../contract/source.ts";
import type { PostgresDurable } from "../declaration/durable.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { formatPosition, parseLsn, parsePosition, type StreamPosition } from "../protocol/lsn.ts";
import type { Relation, ReplicationMessage } from "../protocol/pgoutput.ts";
import type { ReplicationNames } from "../server/slot.ts";
import {
  BatchBuilder,
  type BatchBuilderLimits,
  type BuiltBatch,
  type PlanOf,
  type StreamBarrier,
  type StreamLane,
  streamBatch,
  streamLane,
} from "./batch-builder.ts";
import { ReplicationStream } from "./replication-stream.ts";

type Batch = SourceBatch<PostgresDurable>;

export type ChangeReaderParts = {
  readonly server: SourceServer;
  readonly names: ReplicationNames;
  /** The plan of a table that the pipe has; undefined for others. */
  readonly planOf: PlanOf;
  /** True when rows of this relation can be written as the table is now. */
  readonly fits: (relation: Relation) => boolean;
  readonly isOurs: (relation: Relation) => boolean;
  /** Keeps what is then confirmed to the source. */
  readonly remember: (lsn: bigint, skippedRows: number) => Promise<void>;
};

/** The source reports the end of its log every few seconds. */
const offerPauseMs = 2_000;
const unlimited: BatchBuilderLimits = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

export type ChangeReaderOptions = {
  readonly limits?: BatchBuilderLimits;
  readonly syncMs?: number;
  readonly lane?: StreamLane;
  /** Nothing is confirmed to the source: it keeps what is read again for tables that are being copied. */
  readonly holds?: boolean;
  /** The last place that is read. */
  readonly upTo?: string;
  /** The changes up to `upTo` are one batch that is built again. */
  readonly isReplay?: boolean;
};

/** Something to do before the stream goes on. Everything before it is durable when the next one is asked for. */
export type ChangeReaderStep =
  | { readonly kind: "batch"; readonly batch: Batch }
  | { readonly kind: "barrier"; readonly barrier: StreamBarrier; readonly from: string };

export class ChangeReader {
  readonly #parts: ChangeReaderParts;
  readonly #builder: BatchBuilder;
  readonly #syncMs: number;
  readonly #lane: StreamLane;
  readonly #holds: boolean;
  readonly #from: StreamPosition;
  readonly #upTo: StreamPosition | undefined;
  readonly #isReplay: boolean;
  /** The last place is reached, or passed by the source. */
  #isEnded = false;
  #stream: ReplicationStream | undefined;
  #barrier: StreamBarrier | undefined;
  #due = false;
  #wanted = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};
  readonly #unconfirmed = new Set<string>();
  /** Changes by kind and table since the worker began to follow. */
  readonly #changes: Record<string, number> = {};
  /** The commit of the last transaction that was received, in ms. */
  #committedAt = 0;
  /** The source has reported the end of its log: only then an empty stream means that there is no lag. */
  #isTold = false;
  #offerAt = 0;

  constructor(parts: ChangeReaderParts, from: string, options: ChangeReaderOptions = {}) {
    this.#parts = parts;
    this.#from = parsePosition(from);
    this.#builder = new BatchBuilder(this.#from, options.limits ?? unlimited, parts.planOf);
    this.#syncMs = options.syncMs ?? Number.POSITIVE_INFINITY;
    this.#lane = options.lane ?? streamLane;
    this.#holds = options.holds === true;
    this.#upTo = options.upTo === undefined ? undefined : parsePosition(options.upTo);
    this.#isReplay = options.isReplay === true;
  }

  /** `check` answers where the source goes on, on the connection that is used. */
  async open(check: (client: pg.Client) => Promise<bigint>, signal: AbortSignal): Promise<void> {
    this.#stream = await ReplicationStream.open(
      this.#parts.server,
      this.#parts.names,
      { check, from: this.#from.lsn },
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

  /** What follows, until the last place or the signal aborts. A barrier is passed before more is asked for. */
  async *steps(signal: AbortSignal): AsyncGenerator<ChangeReaderStep> {
    while (!signal.aborted) {
      await this.#untilDue(signal);
      if (signal.aborted) return;
      const built = this.#builder.take();
      const barrier = this.#barrier;
      const isEnded = this.#isEnded && barrier === undefined;
      this.#due = false;
      // From here on nothing that follows may be confirmed before this one is.
      const batch = built && this.#track(built);
      // What arrives while this one is inserted is gathered into the next.
      if (barrier === undefined) this.#stream?.resume();
      if (batch !== undefined) yield { kind: "batch", batch };
      if (isEnded) return;
      if (barrier === undefined) continue;
      yield { kind: "barrier", barrier, from: formatPosition(this.#builder.at) };
      this.#barrier = undefined;
      this.#builder.pass(barrier);
      if (this.#isAtEnd()) return;
      this.#stream?.resume();
    }
  }

  /** The one batch up to the place; undefined when the signal aborted, or the source does not have it any more. */
  async exactly(signal: AbortSignal): Promise<BuiltBatch | undefined> {
    await this.#untilDue(signal);
    // All tables of the batch may have been stopped since, or are copied anew: then it has no rows.
    return this.#isAtEnd() || this.#builder.skippedRows > 0 ? this.#builder.takeAll() : this.#builder.take();
  }

  acknowledge(batch: Batch): void {
    this.#unconfirmed.delete(batch.id);
    const { replay } = batch;
    const end = replay.kind === "changes" ? replay.end : undefined;
    if (end !== undefined && !this.#holds) this.#stream?.confirm(parseLsn(end));
  }

  /** Lag of the destination behind the received changes, and the changes so far. */
  gauges(): Readonly<Record<string, number>> {
    if (this.#isIdle() && this.#isTold) return { ...this.#changes, lagSeconds: 0 };
    // Before the first commit nothing is known.
    if (this.#committedAt === 0) return { ...this.#changes };
    return { ...this.#changes, lagSeconds: Math.max(0, Date.now() - this.#committedAt) / 1000 };
  }

  /** Until this batch is acknowledged, nothing after it is confirmed to the source. */
  awaits(batch: Batch): Batch {
    this.#unconfirmed.add(batch.id);
    return batch;
  }

  #track(built: BuiltBatch): Batch {
    const batch = this.awaits(streamBatch(built, this.#lane));
    for (const [name, count] of Object.entries(built.changes)) {
      this.#changes[name] = (this.#changes[name] ?? 0) + count;
    }
    return batch;
  }

  #take(message: ReplicationMessage): boolean {
    if (this.#upTo !== undefined && message.kind === "begin" && message.finalLsn > this.#upTo.lsn) return this.#end();
    this.#isTold = true;
    if (message.kind === "commit") this.#committedAt = Number(message.time / 1000n);
    const barrier = this.#builder.push(message);
    if (barrier !== undefined && !this.#passes(barrier)) {
      this.#barrier = barrier;
      return this.#stop();
    }
    if (this.#isAtEnd()) return this.#end();
    if (this.#isReplay) return true;
    if (message.kind === "commit" && this.#isIdle()) this.#offer(message.endLsn);
    return this.#builder.full || this.#overdue() ? this.#stop() : true;
  }

  /**
   * An unchanged relation needs no pause. One that is sent again may have changed in what the message does not contain.
   * Within a batch that is built again nothing can have changed.
   */
  #passes(barrier: StreamBarrier): boolean {
    if (barrier.kind !== "relation") return false;
    const { relation } = barrier;
    const isNew = this.#builder.knows(relation.oid) || !this.#parts.fits(relation);
    if (isNew && !this.#isReplay && this.#parts.isOurs(relation)) return false;
    this.#builder.pass(barrier);
    return true;
  }

  /** Nothing before this position is still to come. */
  #idle(walEnd: bigint): void {
    this.#isTold = true;
    if (this.#upTo !== undefined) {
      if (walEnd > this.#upTo.lsn && !this.#builder.within) this.#end();
    } else if (this.#isIdle()) this.#offer(walEnd);
  }

  /** Everything before this position is dealt with. It is remembered before it is confirmed, now and then. */
  #offer(lsn: bigint): void {
    const stream = this.#stream;
    if (stream === undefined || this.#holds || lsn <= stream.confirmed || performance.now() < this.#offerAt) return;
    this.#offerAt = performance.now() + offerPauseMs;
    this.#builder.settle(lsn);
    const skipped = this.#builder.takeSkipped();
    // What cannot be remembered now is offered again.
    this.#parts.remember(lsn, skipped).then(
      () => stream.confirm(lsn),
      () => this.#builder.addSkipped(skipped),
    );
  }

  #isAtEnd(): boolean {
    return this.#upTo !== undefined && formatPosition(this.#builder.at) === formatPosition(this.#upTo);
  }

  #end(): false {
    this.#isEnded = true;
    return this.#stop();
  }

  #stop(): false {
    this.#due = true;
    this.#wake();
    return false;
  }

  /** Time is up and the batch is awaited. A transaction is collected to its end. */
  #overdue(): boolean {
    const { openedAt, within } = this.#builder;
    return this.#wanted && !within && openedAt !== undefined && performance.now() - openedAt >= this.#syncMs;
  }

  #isIdle(): boolean {
    const { openedAt, within } = this.#builder;
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
        const { openedAt } = this.#builder;
        const left = openedAt === undefined ? this.#syncMs : openedAt + this.#syncMs - performance.now();
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
