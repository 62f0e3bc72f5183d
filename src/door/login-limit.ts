/** Slows down guessing: too many failed logins from one address are refused for a while without a check. */

const windowMs = 60_000;
const maxFailures = 20;
const maxAddresses = 10_000;

export class LoginLimit {
  readonly #failures = new Map<string, { count: number; until: number }>();

  /** Seconds to wait, or 0. */
  blockedFor(address: string, now = Date.now()): number {
    const entry = this.#failures.get(address);
    if (entry === undefined || entry.until <= now) return 0;
    return entry.count < maxFailures ? 0 : Math.ceil((entry.until - now) / 1000);
  }

  failed(address: string, now = Date.now()): void {
    const entry = this.#failures.get(address);
    if (entry !== undefined && entry.until > now) {
      entry.count += 1;
      return;
    }
    if (this.#failures.size >= maxAddresses) this.#forgetOld(now);
    this.#failures.set(address, { count: 1, until: now + windowMs });
  }

  succeeded(address: string): void {
    this.#failures.delete(address);
  }

  #forgetOld(now: number): void {
    for (const [address, entry] of this.#failures) if (entry.until <= now) this.#failures.delete(address);
    if (this.#failures.size >= maxAddresses) this.#failures.clear();
  }
}
