/** Tests of clients that fail for a reason that docs/gateway.md gives. */
const known: readonly (readonly [suite: string, test: RegExp, reason: string])[] = [];

/** Why this test fails; undefined when no reason is known. */
export function knownFailure(suite: string, test: string): string | undefined {
  return known.find(([name, pattern]) => name === suite && pattern.test(test))?.[2];
}
