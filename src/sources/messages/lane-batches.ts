/**
 * Gathers messages of many lanes into batches: a lane's batch is closed when it is full or old, and closed batches are
 * handed out one per lane at a time, so that a slow lane does not delay the others. Open batches and those in progress
 * stay within a memory budget: producers check for room before they read on.
 */
import type { BatchLimits } from "./limits.ts";
import type { Position, SourceMessage } from "./message.ts";
import type { MessageBatch } from "./message-batch.ts";
import { type RowMemory, rowPool } from "./row-memory.ts";

/**
 * The first full batch of a lane has this share of the rows, so that the engine works while the next ones are filled.
 */
const firstPart = 0.25;
/** A lane that has this share of the rows to read has a backlog, until nothing is left. One with less is followed. */
const backlogPart = 0.1;

type Lane<M extends SourceMessage> = {
  readonly name: string;
  open: { readonly batch: MessageBatch<M>; readonly since: number; readonly ofBacklog: boolean } | undefined;
  /** Full batches, oldest first. */
  readonly closed: Closed<M>[];
  /** The lane's next position: after everything added. */
  next: Position | undefined;
  inHand: MessageBatch<M> | undefined;
  /** Number of rows at which a batch is closed. */
  maxRows: number;
  /** True until a batch is closed. */
  isNew: boolean;
  /** True while a backlog is read. */
  isBehind: boolean;
};

/** The parameters of a new batch. */
export type BatchStart = { readonly expectedBytes: number; readonly memory: RowMemory };

/** A batch that accepts no more messages, and the position after it. */
export type Closed<M extends SourceMessage> = {
  readonly lane: string;
  readonly batch: MessageBatch<M>;
  readonly next: Position;
};

export class LaneBatches<M extends SourceMessage> {
  readonly #limits: BatchLimits;
  readonly #open: (lane: string, start: BatchStart) => MessageBatch<M>;
  readonly #lanes = new Map<string, Lane<M>>();
  readonly #waiting = new Set<() => void>();
  #failure: { readonly error: unknown } | undefined;
  #expectedBytes = 0;

  constructor(limits: BatchLimits, open: (lane: string, start: BatchStart) => MessageBatch<M>) {
    this.#limits = limits;
    this.#open = open;
  }

  /** Adds a message whose encoder is prepared; `next` is the position after it. */
  add(laneName: string, message: M, next: Position): void {
    const lane = this.#lane(laneName);
    lane.open ??= this.#begin(lane);
    const { batch } = lane.open;
    batch.add(message);
    lane.next = next;
    if (batch.size >= lane.maxRows || batch.bytes >= this.#limits.maxBytes) this.#close(lane);
  }

  /** The lane has advanced without a message (a control record, or a gap): the next batch saves the position. */
  moveTo(laneName: string, next: Position): void {
    const lane = this.#lane(laneName);
    lane.open ??= this.#begin(lane);
    lane.next = next;
  }

  /**
   * The source's current response for the lane has been added; `left` messages or so are still to be read. A new lane
   * does not wait for more, so that its rows are visible early, and neither does the last batch of a backlog.
   */
  answered(laneName: string, left: number): void {
    const lane = this.#lane(laneName);
    const isBehind = left >= this.#limits.maxRows * backlogPart || (lane.isBehind && left > 0);
    const isLast = lane.open?.ofBacklog === true && !isBehind;
    if ((lane.isNew || isLast) && (lane.open?.batch.size ?? 0) > 0) this.#close(lane);
    lane.isBehind = isBehind;
  }

  /** True when no batch of the lane has been closed yet. */
  isNew(laneName: string): boolean {
    return this.#lane(laneName).isNew;
  }

  /** The lane has ended: its open batch is due immediately, followed by an empty batch with this position. */
  finish(laneName: string, end: Position): void {
    const lane = this.#lane(laneName);
    this.#close(lane);
    this.moveTo(laneName, end);
    this.#close(lane);
  }

  /** True when the lane should be read on now. */
  hasRoom(laneName: string): boolean {
    return this.#lane(laneName).closed.length === 0 && this.bytes < this.#limits.memoryBytes;
  }

  get bytes(): number {
    let sum = 0;
    for (const lane of this.#lanes.values()) {
      sum += (lane.inHand?.bytes ?? 0) + (lane.open?.batch.bytes ?? 0);
      for (const { batch } of lane.closed) sum += batch.bytes;
    }
    return sum;
  }

  /** The lane's batch that was handed out is durable. */
  done(laneName: string): void {
    const lane = this.#lane(laneName);
    lane.inHand?.release();
    lane.inHand = undefined;
    this.#wake();
  }

  /** Makes `next` throw from now on. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  /** Waits until something is added, handed out or finished, but at most this long. */
  change(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, limitMs);
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }

  /** Something was added that `next` may be waiting for. */
  added(): void {
    this.#wake();
  }

  /** The next batch to insert; undefined when aborted. Throws the error that `fail` received. */
  async next(signal: AbortSignal): Promise<Closed<M> | undefined> {
    while (!signal.aborted) {
      if (this.#failure !== undefined) throw this.#failure.error;
      const lane = this.#choose();
      if (lane !== undefined) return this.#handOut(lane);
      await this.change(this.#untilOldest(), signal);
    }
    return undefined;
  }

  #handOut(lane: Lane<M>): Closed<M> {
    if (lane.closed.length === 0) this.#close(lane);
    const closed = lane.closed.shift() as Closed<M>;
    lane.inHand = closed.batch;
    this.#wake();
    return closed;
  }

  /** A lane with a full batch, otherwise the one with the oldest due batch. */
  #choose(): Lane<M> | undefined {
    const free = [...this.#lanes.values()].filter((lane) => lane.inHand === undefined);
    const full = free.find((lane) => lane.closed.length > 0);
    if (full !== undefined) return full;
    const open = free.filter((lane) => lane.open !== undefined);
    if (this.bytes >= this.#limits.memoryBytes) {
      return open.toSorted((a, b) => (b.open?.batch.bytes ?? 0) - (a.open?.batch.bytes ?? 0))[0];
    }
    const now = performance.now();
    const due = open.filter((lane) => now - (lane.open?.since ?? 0) >= this.#limits.maxWaitMs);
    return due.toSorted((a, b) => (a.open?.since ?? 0) - (b.open?.since ?? 0))[0];
  }

  #untilOldest(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) {
      if (lane.inHand === undefined && lane.open !== undefined) first = Math.min(first, lane.open.since);
    }
    return first === Number.POSITIVE_INFINITY
      ? 60_000
      : Math.max(1, first + this.#limits.maxWaitMs - performance.now());
  }

  #begin({ name, isBehind }: Lane<M>) {
    const batch = this.#open(name, { expectedBytes: this.#expectedBytes, memory: rowPool });
    return { batch, since: performance.now(), ofBacklog: isBehind };
  }

  #close(lane: Lane<M>): void {
    if (lane.open === undefined) return;
    const { batch } = lane.open;
    lane.open = undefined;
    this.#expect(lane, batch);
    if (batch.size >= lane.maxRows) lane.maxRows = this.#limits.maxRows;
    lane.isNew = false;
    lane.closed.push({ lane: lane.name, batch, next: lane.next as Position });
    this.#wake();
  }

  /** Estimates the size of the next batch: a full one, when the source has more than there was time for. */
  #expect(lane: Lane<M>, batch: MessageBatch<M>): void {
    const { maxRows, maxBytes } = this.#limits;
    const isFull = batch.size >= lane.maxRows || batch.bytes >= maxBytes;
    const guess = isFull || lane.isNew ? (batch.bytes / Math.max(1, batch.size)) * maxRows : batch.bytes;
    this.#expectedBytes = Math.min(maxBytes, Math.max(guess, this.#expectedBytes / 2));
  }

  #lane(name: string): Lane<M> {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      const maxRows = Math.ceil(this.#limits.maxRows * firstPart);
      lane = {
        name,
        open: undefined,
        closed: [],
        next: undefined,
        inHand: undefined,
        maxRows,
        isNew: true,
        isBehind: false,
      };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
