/** Questions about the cluster that are asked often, and looked up now and then. */
import { isDeepStrictEqual } from "node:util";

/** Between two looks. */
const lookMs = 5_000;

/** `isFinal`: another look would find the same. */
export type Seen = { readonly answer: boolean; readonly isFinal: boolean };

/**
 * Returns a question, whose answer is that of the last look, and false before. Each asking may begin a look, until one
 * is final. A look that rejects, or that resolves with undefined, changes nothing.
 */
export function lookedUp(look: () => Promise<Seen | undefined>, now = () => performance.now()): () => boolean {
  let nextLook: number | undefined = now();
  let answer = false;
  const begin = async () => {
    const seen = await look();
    if (seen === undefined) return;
    if (seen.isFinal) nextLook = undefined;
    answer = seen.answer;
  };
  return () => {
    if (nextLook !== undefined && now() >= nextLook) {
      nextLook = now() + lookMs;
      begin().catch(() => {});
    }
    return answer;
  };
}

/** `isComplete`: the operator is done with the object. */
export type FoundHosts = { readonly hosts: readonly string[]; readonly isComplete: boolean };

/**
 * Has the service other hosts than these? They change after the first of them answers: operators make one after the
 * other. What cannot be read has not changed.
 */
export function hostChanges(
  hosts: readonly string[],
  read: () => Promise<FoundHosts | undefined>,
  now?: () => number,
): () => boolean {
  return lookedUp(async () => {
    const found = await read();
    return found && { answer: !isDeepStrictEqual(found.hosts, hosts), isFinal: found.isComplete };
  }, now);
}
