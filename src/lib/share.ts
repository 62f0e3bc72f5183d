/** Divides named work among equal workers, the same way everywhere and at any time. */
import { createHash } from "node:crypto";

/** Which of `count` workers owns the name, from 0. */
export function shareOf(name: string, count: number): number {
  return count === 1 ? 0 : createHash("md5").update(name).digest().readUInt32BE() % count;
}
