/** Prefetches items of an async iterable, so that the producer runs concurrently with the consumer. */
export async function* prefetch<T>(source: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const ready: IteratorResult<T>[] = [];
  let failure: { readonly error: unknown } | undefined;
  let closed = false;
  let changed: () => void = () => {};
  const wait = () => new Promise<void>((resolve) => (changed = resolve));
  const pump = (async () => {
    try {
      while (!closed) {
        const item = await iterator.next();
        ready.push(item);
        changed();
        if (item.done) return;
        while (!closed && ready.length >= limit) await wait();
      }
    } catch (error) {
      failure = { error };
      changed();
    }
  })();
  try {
    for (;;) {
      const item = ready.shift();
      if (item !== undefined) {
        changed();
        if (item.done) return;
        yield item.value;
      } else if (failure !== undefined) throw failure.error;
      else await wait();
    }
  } finally {
    closed = true;
    changed();
    await pump;
    await iterator.return?.();
  }
}
