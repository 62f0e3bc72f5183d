/**
 * The last answer to each request, with the time from which its data is. It is what a request with `wake: never` gets
 * while the service does not run. It lives in memory alone.
 */
import { createHash } from "node:crypto";
import type { WakeMode } from "../api/charts.ts";
import { AppError } from "../lib/errors.ts";
import { ChartAnswerCache } from "./answer/cache.ts";

/** An answer, and the time in ms since which rows that were inserted may be missing from it. */
export type Dated<T> = {
  readonly value: T;
  readonly asOfMs: number;
  /** Kept from before, because the service does not run. */
  readonly stale: boolean;
};

const bytes = 64 * 1024 * 1024;
const ttlMs = 24 * 3_600_000;

export class LastAnswers<T> {
  readonly #kept = new ChartAnswerCache<{ readonly value: T; readonly asOfMs: number }>({ bytes, ttlMs });

  /** Keeps a value of about `size` bytes; the one before is forgotten. */
  set(key: string, value: T, asOfMs: number, size: number): void {
    this.#kept.set(key, { value, asOfMs }, size);
  }

  get(key: string): T | undefined {
    return this.#kept.get(key)?.value;
  }

  /** The answer that is kept for a request that failed because the service does not run; otherwise throws the error. */
  insteadOf(error: unknown, key: string): Dated<T> {
    const kept = isAsleep(error) ? this.#kept.get(key) : undefined;
    if (kept === undefined) throw error;
    return { ...kept, stale: true };
  }
}

/** A digest of everything that the answer to a request depends on. */
export function keyOfRequest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

export function isAsleep(error: unknown): boolean {
  return error instanceof AppError && error.code === "SERVICE_ASLEEP";
}

/**
 * The error of a read, seen again: an engine that nobody used may have ended while it was asked. `look` connects once
 * more.
 */
export async function orAsleep(error: unknown, wake: WakeMode, look: () => Promise<unknown>): Promise<unknown> {
  if (wake === "auto" || !(error instanceof AppError) || error.code !== "SERVICE_UNAVAILABLE") return error;
  return await look().then(
    () => error,
    (asleep) => asleep,
  );
}
