/** Fixed-window counters in memory, per key. A window begins with the first hit after the last one ended. */

export type RateLimit = { readonly limit: number; readonly windowSeconds: number };

export type RateDecision = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the window ends, possibly fractional. */
  readonly resetSeconds: number;
};

export class RateLimiter {
  /** The rule as a header says it. */
  readonly policy: string;
  readonly #rule: RateLimit;
  readonly #now: () => number;
  readonly #windows = new Map<string, { endsAt: number; hits: number }>();

  constructor(rule: RateLimit, now: () => number = () => performance.now()) {
    this.#rule = rule;
    this.policy = `${rule.limit};w=${rule.windowSeconds};comment="fixed window"`;
    this.#now = now;
  }

  get rule(): RateLimit {
    return this.#rule;
  }

  hit(key: string): RateDecision {
    const now = this.#now();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      if (this.#windows.size > 10_000) this.#forgetEnded(now);
      window = { endsAt: now + this.#rule.windowSeconds * 1000, hits: 0 };
      this.#windows.set(key, window);
    }
    window.hits += 1;
    return {
      allowed: window.hits <= this.#rule.limit,
      remaining: Math.max(0, this.#rule.limit - window.hits),
      resetSeconds: Math.round(window.endsAt - now) / 1000,
    };
  }

  #forgetEnded(now: number): void {
    for (const [key, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(key);
  }
}
