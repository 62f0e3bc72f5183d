/**
 * Slows down guessing without locking anybody out. Whoever asks has looked at the password first: a right one never
 * comes here, so it passes at once, however many wrong ones come from its address. Wrong ones are answered late.
 */
import { setTimeout as delay } from "node:timers/promises";
import { RateCounter } from "../../lib/rate-counter.ts";
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

export class FailedLogins {
  readonly #perMinute: number;
  readonly #counter: RateCounter;
  readonly #wait: (ms: number) => Promise<unknown>;
  /** Answers that wait, by address. */
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;

  constructor({ perMinute, now, wait }: FailedLoginsOptions) {
    this.#perMinute = perMinute;
    this.#counter = new RateCounter({ windowMs: 60_000, maxKeys: maxAddresses, now });
    this.#wait = wait ?? ((ms) => delay(ms, undefined, { ref: false }));
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#counter.size;
  }

  /**
   * Counts a failed login, and resolves when it is to be answered: after up to 5 s, by the number of failures of its
   * address within a minute. False says that there were too many of them, or that too many answers wait. Never rejects.
   */
  async failed(address: string | undefined): Promise<boolean> {
    const network = networkOf(address ?? "");
    const { hits } = this.#counter.hit(network);
    const ms = delayOf(hits);
    if (ms > 0 && !(await this.#waitInLine(network, ms))) return false;
    // By now: those that came during the wait count too.
    return this.#counter.hitsOf(network) <= this.#perMinute;
  }

  /** False, at once, when too many wait. */
  async #waitInLine(network: string, ms: number): Promise<boolean> {
    const waiting = this.#waitingOf.get(network) ?? 0;
    if (this.#waiting >= maxWaiting || waiting >= maxWaitingPerAddress) return false;
    this.#waiting += 1;
    this.#waitingOf.set(network, waiting + 1);
    await this.#wait(ms);
    this.#waiting -= 1;
    const left = (this.#waitingOf.get(network) ?? 1) - 1;
    if (left > 0) this.#waitingOf.set(network, left);
    else this.#waitingOf.delete(network);
    return true;
  }
}

function delayOf(count: number): number {
  const beyond = count - freeFailures;
  return beyond <= 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (beyond - 1));
}
