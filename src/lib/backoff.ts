import { sleep } from "./abort.ts";

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

export type RetryOptions<Outcome> = {
  /** Ends the retries and the pause between them. */
  readonly signal: AbortSignal;
  readonly backoff: Backoff;
  /**
   * Classifies a failed attempt. Undefined: retry after a pause. A returned value ends the retries with that value, a
   * thrown error with that error.
   */
  readonly classify: (error: unknown) => Outcome | undefined;
};

/** Repeats the work until it succeeds or `classify` ends it; returns undefined when the signal has aborted. */
export async function retry<T, Outcome = never>(
  work: () => Promise<T>,
  { signal, backoff, classify }: RetryOptions<Outcome>,
): Promise<T | Outcome | undefined> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return undefined;
      const outcome = classify(error);
      if (outcome !== undefined) return outcome;
      await sleep(backoff.next(), signal);
    }
  }
  return undefined;
}
