/** Work on many items, of which only as much is done as fits into a time. */

export type TimeBound = { readonly ms: number; readonly concurrency: number };

/**
 * The result of every item, in their order; undefined for items whose turn did not come in time. Work that has begun is
 * waited for. The first failure rejects, and nothing new is begun after it.
 */
export async function withinTime<T, R>(
  items: readonly T[],
  { ms, concurrency }: TimeBound,
  work: (item: T) => Promise<R>,
): Promise<(R | undefined)[]> {
  const results: (R | undefined)[] = items.map(() => undefined);
  const end = performance.now() + ms;
  let next = 0;
  let hasFailed = false;
  const lane = async () => {
    while (next < items.length && !hasFailed && performance.now() < end) {
      const at = next;
      next += 1;
      try {
        results[at] = await work(items[at] as T);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return results;
}
