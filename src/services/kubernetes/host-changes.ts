/** The hosts of an installation change after the first of them answers: the operator makes one after the other. */
import { isDeepStrictEqual } from "node:util";
import type { Installation } from "./objects.ts";
import { phaseOf } from "./status.ts";

/** Between two looks. */
const lookMs = 5_000;

/**
 * Returns a question: has the installation other hosts than these, as far as is known? Each asking may begin a look,
 * until the operator has completed the installation. What cannot be read has not changed.
 */
export function hostChanges(
  hosts: readonly string[],
  read: () => Promise<Installation | undefined>,
  now: () => number = Date.now,
): () => boolean {
  let nextLook: number | undefined = now();
  let haveChanged = false;
  const look = async () => {
    const found = await read();
    if (found === undefined) return;
    if (phaseOf(found) === "completed") nextLook = undefined;
    haveChanged = !isDeepStrictEqual(found.status?.fqdns ?? [], hosts);
  };
  return () => {
    if (nextLook !== undefined && now() >= nextLook) {
      nextLook = now() + lookMs;
      look().catch(() => {});
    }
    return haveChanged;
  };
}
