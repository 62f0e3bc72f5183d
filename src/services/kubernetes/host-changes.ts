/** The hosts of a service in Kubernetes change after the first of them answers: operators make one after the other. */
import { isDeepStrictEqual } from "node:util";

/** Between two looks. */
const lookMs = 5_000;

/** `isComplete`: the operator is done with the object. */
export type FoundHosts = { readonly hosts: readonly string[]; readonly isComplete: boolean };

/**
 * Returns a question: has the service other hosts than these, as far as is known? Each asking may begin a look,
 * until the operator is done with it. What cannot be read has not changed.
 */
export function hostChanges(
  hosts: readonly string[],
  read: () => Promise<FoundHosts | undefined>,
  now: () => number = Date.now,
): () => boolean {
  let nextLook: number | undefined = now();
  let haveChanged = false;
  const look = async () => {
    const found = await read();
    if (found === undefined) return;
    if (found.isComplete) nextLook = undefined;
    haveChanged = !isDeepStrictEqual(found.hosts, hosts);
  };
  return () => {
    if (nextLook !== undefined && now() >= nextLook) {
      nextLook = now() + lookMs;
      look().catch(() => {});
    }
    return haveChanged;
  };
}
