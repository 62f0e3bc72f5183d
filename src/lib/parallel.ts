/** Runs `work` for every item, at most `limit` at a time; after a failure nothing new starts and the first error is thrown. */
export async function eachOf<T>(items: Iterable<T>, limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failed = false;
  const lane = async () => {
    for (let next = queue.next(); !next.done && !failed; next = queue.next()) {
      await work(next.value).catch((error) => {
        failed = true;
        throw error;
      });
    }
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, lane));
  const error = results.find((result) => result.status === "rejected");
  if (error !== undefined) throw error.reason;
}
