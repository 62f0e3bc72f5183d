/** Assigns names to equal workers by hash, with the same result everywhere and at any time. */
import { createHash } from "node:crypto";

/** The index, from 0, of the worker out of `count` that owns the name. */
export function assignedWorker(name: string, count: number): number {
  return count === 1 ? 0 : createHash("md5").update(name).digest().readUInt32BE() % count;
}
