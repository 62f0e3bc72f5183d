/**
 * One slot per query that runs at the same time: a pair of named pipes and the right to one engine thread. Callers
 * wait in a bounded line; past that they are refused, as a server with too many queries does.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { clickHouseException } from "../clickhouse/exception.ts";

export type Slot = {
  readonly id: number;
  /** The engine writes results here. */
  readonly outPath: string;
  /** The engine reads insert data here. */
  readonly inPath: string;
  /** A regular file in memory for uploads that were received whole. */
  readonly spoolPath: string;
};

type Waiter = { resolve: (slot: Slot) => void; reject: (error: Error) => void; signal: AbortSignal };

export class Slots {
  readonly #free: Slot[] = [];
  readonly #line = new Set<Waiter>();
  readonly #maxWaiting: number;

  constructor(runDir: string, count: number, maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
    for (let id = count - 1; id >= 0; id -= 1) {
      this.#free.push({
        id,
        outPath: join(runDir, `out-${id}`),
        inPath: join(runDir, `in-${id}`),
        spoolPath: join(runDir, `spool-${id}`),
      });
    }
    execFileSync("mkfifo", ["-m", "600", ...this.#free.flatMap((slot) => [slot.outPath, slot.inPath])]);
  }

  /** A free slot, now or when one is given back. Rejects when the line is full or the signal aborts. */
  async take(signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    const slot = this.#free.pop();
    if (slot !== undefined) return slot;
    if (this.#line.size >= this.#maxWaiting) {
      throw clickHouseException("TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries.");
    }
    return await new Promise<Slot>((resolve, reject) => {
      const waiter: Waiter = { resolve: leave(resolve), reject: leave(reject), signal };
      const onAbort = () => waiter.reject(signal.reason as Error);
      signal.addEventListener("abort", onAbort);
      this.#line.add(waiter);
      const line = this.#line;
      function leave<T>(settle: (value: T) => void): (value: T) => void {
        return (value) => {
          line.delete(waiter);
          signal.removeEventListener("abort", onAbort);
          settle(value);
        };
      }
    });
  }

  /** Only when the engine has closed both ends. */
  give(slot: Slot): void {
    const next = this.#line.values().next().value;
    if (next === undefined) this.#free.push(slot);
    else next.resolve(slot);
  }
}
