/**
 * How long inserts wait for others. As in a ClickHouse server, the time adapts between two bounds: it grows while
 * inserts follow each other quickly, shrinks while they do not, and an insert that comes alone does not wait.
 */
export type Pace = {
  /** False: always the longest time. */
  readonly adapts: boolean;
  readonly minMs: number;
  readonly maxMs: number;
  readonly increase: number;
  readonly decrease: number;
};

export class BusyTimeout {
  readonly #pace: Pace;
  #ms: number;
  #lastInsert: number | undefined;
  /** When the last two flushes began. */
  #flushes: readonly [before: number, last: number] | undefined;
  #lastFlush: number | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#ms = pace.minMs;
  }

  /** The time that an insert waits which arrives now; 0 when there is nobody to wait for. */
  next(now: number): number {
    const { adapts, minMs, maxMs, increase, decrease } = this.#pace;
    const last = this.#lastInsert;
    this.#lastInsert = now;
    if (!adapts) return maxMs;
    if (last === undefined || this.#flushes === undefined) return this.#ms;
    const [before, flushed] = this.#flushes;
    const less = Math.min(this.#ms / (1 + decrease), this.#ms - 1);
    if (last + minMs > now) this.#ms = Math.max(this.#ms * (1 + increase), this.#ms + 1);
    else if (last + less < now && before + less < flushed) this.#ms = less;
    this.#ms = Math.min(Math.max(this.#ms, minMs), maxMs);
    return last + maxMs < now && before + maxMs < flushed ? 0 : this.#ms;
  }

  /** A flush begins. */
  flushed(now: number): void {
    if (this.#lastFlush !== undefined) this.#flushes = [this.#lastFlush, now];
    this.#lastFlush = now;
  }
}
