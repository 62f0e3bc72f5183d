/**
 * Slows down password guessing without locking anybody out. The caller has checked the password first: a right one
 * passes immediately, whatever number of failures its address has. Failures are answered late.
 */
import { setTimeout as delay } from "node:timers/promises";
import { RateCounter } from "../../lib/rate-counter.ts";
import { networkOf } from "./access-list.ts";

export type FailedLoginsOptions = {
  /** Failed logins per minute and address that are allowed before "too many" is answered. */
  readonly perMinute: number;
  /** The clock, in ms, and the wait: replaced in tests. */
  readonly now?: () => number;
  readonly wait?: (ms: number) => Promise<unknown>;
};

/** Failures of an address that are answered immediately, because people mistype. */
const freeFailures = 3;
const firstDelayMs = 100;
const longestDelayMs = 5_000;
/** Maximum number of delayed responses; further ones are sent immediately, so that delays use bounded memory. */
const maxWaiting = 500;
const maxWaitingPerAddress = 8;
const maxAddresses = 10_000;

export class FailedLogins {
  readonly #perMinute: number;
  readonly #counter: RateCounter;
  readonly #wait: (ms: number) => Promise<unknown>;
  /** Delayed responses by address. */
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;

  constructor({ perMinute, now, wait }: FailedLoginsOptions) {
    this.#perMinute = perMinute;
    this.#counter = new RateCounter({ windowMs: 60_000, maxKeys: maxAddresses, now });
    this.#wait = wait ?? ((ms) => delay(ms, undefined, { ref: false }));
  }

  /** Number of addresses kept. */
  get size(): number {
    return this.#counter.size;
  }

  /**
   * Counts a failed login, and resolves when it is to be answered: after up to 5 s, depending on the failures of its
   * address within a minute. False when there were too many failures, or too many responses wait. Never rejects.
   */
  async failed(address: string | undefined): Promise<boolean> {
    const network = networkOf(address ?? "");
    const { hits } = this.#counter.hit(network);
    const ms = delayOf(hits);
    if (ms > 0 && !(await this.#waitInLine(network, ms))) return false;
    // Counted now: failures during the wait count too.
    return this.#counter.hitsOf(network) <= this.#perMinute;
  }

  /** False, immediately, when too many wait. */
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
