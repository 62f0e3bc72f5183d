/** Exponential delay with a cap and full jitter on the upper half; `reset` after the first success. */
export class Backoff {
  readonly #baseMs: number;
  readonly #capMs: number;
  #attempt = 0;

  constructor(options: { baseMs: number; capMs: number }) {
    this.#baseMs = options.baseMs;
    this.#capMs = options.capMs;
  }

  get attempts(): number {
    return this.#attempt;
  }

  /** The delay before the next attempt, in ms. */
  next(): number {
    const full = Math.min(this.#capMs, this.#baseMs * 2 ** this.#attempt);
    this.#attempt += 1;
    return full / 2 + Math.random() * (full / 2);
  }

  reset(): void {
    this.#attempt = 0;
  }
}
