/** Rows and bytes per second of keys. What a request brings may exceed the rest: then the next ones wait for it. */
import type { PushLimits } from "../../api/keys.ts";

type Spent = { at: number; rows: number; bytes: number };

/** What may be spent at once, in seconds of the limit. */
const burstSeconds = 2;
const mostKeys = 10_000;

export class PushRates {
  /** What keys have spent beyond their limit until now. */
  readonly #spent = new Map<string, Spent>();

  /** Seconds until the key may send again; 0 when it may now. */
  waitSeconds(key: string, limits: PushLimits, now = performance.now()): number {
    const { rows, bytes } = this.#now(key, limits, now);
    const wait = (spent: number, limit: number | undefined) =>
      limit === undefined ? 0 : Math.max(0, spent / limit - burstSeconds);
    return Math.max(wait(rows, limits.rowsPerSecond), wait(bytes, limits.bytesPerSecond));
  }

  spend(key: string, limits: PushLimits, rows: number, bytes: number, now = performance.now()): void {
    const spent = this.#now(key, limits, now);
    spent.rows += rows;
    spent.bytes += bytes;
  }

  #now(key: string, { rowsPerSecond = 0, bytesPerSecond = 0 }: PushLimits, now: number): Spent {
    const spent = this.#spent.get(key) ?? { at: now, rows: 0, bytes: 0 };
    const seconds = (now - spent.at) / 1_000;
    spent.rows = Math.max(0, spent.rows - seconds * rowsPerSecond);
    spent.bytes = Math.max(0, spent.bytes - seconds * bytesPerSecond);
    spent.at = now;
    if (this.#spent.size >= mostKeys) this.#spent.clear();
    this.#spent.set(key, spent);
    return spent;
  }
}
