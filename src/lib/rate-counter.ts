/**
 * Counts hits per key in fixed windows, in memory. A window begins with the first hit after the previous one has ended.
 */

export type RateWindow = {
  /** Hits in the window, including this one. */
  readonly hits: number;
  /** Ms until the window ends, possibly fractional. */
  readonly leftMs: number;
};

export type RateCounterOptions = {
  readonly windowMs: number;
  /** Maximum number of keys; above it, the least recently hit key is dropped. */
  readonly maxKeys?: number;
  /** The clock, in ms: replaced in tests. */
  readonly now?: (() => number) | undefined;
};

export class RateCounter {
  readonly #windowMs: number;
  readonly #maxKeys: number;
  readonly #now: () => number;
  /** Least recently hit key first. */
  readonly #windows = new Map<string, { endsAt: number; hits: number }>();
  /** The key that was hit last: it has its place. */
  #latest: string | undefined;

  constructor({ windowMs, maxKeys = 10_000, now = () => performance.now() }: RateCounterOptions) {
    this.#windowMs = windowMs;
    this.#maxKeys = maxKeys;
    this.#now = now;
  }

  /** Number of keys kept. */
  get size(): number {
    return this.#windows.size;
  }

  /** Hits in the key's window, without counting one. */
  hitsOf(key: string): number {
    const window = this.#windows.get(key);
    return window === undefined || window.endsAt <= this.#now() ? 0 : window.hits;
  }

  hit(key: string): RateWindow {
    const now = this.#now();
    const known = this.#windows.get(key);
    const window = known !== undefined && known.endsAt > now ? known : { endsAt: now + this.#windowMs, hits: 0 };
    window.hits += 1;
    if (window === known && key === this.#latest) return { hits: window.hits, leftMs: window.endsAt - now };
    this.#latest = key;
    this.#windows.delete(key);
    if (this.#windows.size >= this.#maxKeys) {
      const [oldest] = this.#windows.keys();
      if (oldest !== undefined) this.#windows.delete(oldest);
    }
    this.#windows.set(key, window);
    return { hits: window.hits, leftMs: window.endsAt - now };
  }
}
