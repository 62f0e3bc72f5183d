/**
 * Slows down guessing without locking anybody out. Whoever asks has looked at the password first: a right one never
 * comes here, so it passes at once, however many wrong ones come from its address. Wrong ones are answered late.
 */
import { setTimeout as delay } from "node:timers/promises";
import { networkOf } from "./access-list.ts";

export type FailedLoginsOptions = {
  /** Failed logins per minute and address that are no reason to say that there are too many. */
  readonly perMinute: number;
  /** The clock, in ms, and the wait: replaced in tests. */
  readonly now?: () => number;
  readonly wait?: (ms: number) => Promise<unknown>;
};

/** Failures of an address that are answered at once: people mistype. */
const freeFailures = 3;
const firstDelayMs = 100;
const longestDelayMs = 5_000;
/** Answers that wait at a time; further ones leave at once, so that waiting costs bounded memory. */
const maxWaiting = 500;
const maxWaitingPerAddress = 8;
const maxAddresses = 10_000;

type Failures = { count: number; at: number; waiting: number };

export class FailedLogins {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<unknown>;
  /** By address, the one that failed longest ago first. */
  readonly #failures = new Map<string, Failures>();
  #waiting = 0;

  constructor({ perMinute, now, wait }: FailedLoginsOptions) {
    this.#perMinute = perMinute;
    this.#now = now ?? (() => performance.now());
    this.#wait = wait ?? ((ms) => delay(ms, undefined, { ref: false }));
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#failures.size;
  }

  /**
   * Counts a failed login, and resolves when it is to be answered: after up to 5 s, by the number of failures of its
   * address. False says that there were too many of them, or that too many answers wait. Never rejects.
   */
  async failed(address: string | undefined): Promise<boolean> {
    const failures = this.#count(networkOf(address ?? ""));
    const ms = delayOf(failures.count);
    if (ms > 0) {
      if (this.#waiting >= maxWaiting || failures.waiting >= maxWaitingPerAddress) return false;
      this.#waiting += 1;
      failures.waiting += 1;
      await this.#wait(ms);
      this.#waiting -= 1;
      failures.waiting -= 1;
    }
    return failures.count <= this.#perMinute;
  }

  /** The count of an address falls by `perMinute` in a minute. */
  #count(network: string): Failures {
    const now = this.#now();
    const known = this.#failures.get(network);
    const failures = known ?? { count: 0, at: now, waiting: 0 };
    failures.count = Math.max(0, failures.count - ((now - failures.at) / 60_000) * this.#perMinute) + 1;
    failures.at = now;
    this.#failures.delete(network);
    if (this.#failures.size >= maxAddresses) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
    this.#failures.set(network, failures);
    return failures;
  }
}

function delayOf(count: number): number {
  const beyond = Math.ceil(count) - freeFailures;
  return beyond <= 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (beyond - 1));
}
