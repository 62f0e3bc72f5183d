/** Limits the requests of each key. */
import { RateCounter } from "../../lib/rate-counter.ts";

export type RateLimit = { readonly limit: number; readonly windowSeconds: number };

export type RateDecision = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the window ends, possibly fractional. */
  readonly resetSeconds: number;
};

export class RateLimiter {
  /** The rule in the form of a response header. */
  readonly policy: string;
  readonly rule: RateLimit;
  readonly #counter: RateCounter;

  constructor(rule: RateLimit, now?: () => number) {
    this.rule = rule;
    this.policy = `${rule.limit};w=${rule.windowSeconds};comment="fixed window"`;
    this.#counter = new RateCounter({ windowMs: rule.windowSeconds * 1000, now });
  }

  hit(key: string): RateDecision {
    const { hits, leftMs } = this.#counter.hit(key);
    return {
      allowed: hits <= this.rule.limit,
      remaining: Math.max(0, this.rule.limit - hits),
      resetSeconds: Math.round(leftMs) / 1000,
    };
  }
}
