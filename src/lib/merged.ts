/**
 * The values of several generators, each as soon as it is there. A generator is asked for its next value when its last
 * one was taken. Ends when all have ended, or with the first error. Before it ends, `stop` is called, which must let
 * all generators end, and all are closed.
 */
export async function* merged<T>(parts: readonly AsyncGenerator<T>[], stop: () => void): AsyncGenerator<T> {
  const arrived: Arrival<T>[] = [];
  let wake = () => {};
  const arrive = (arrival: Arrival<T>) => {
    arrived.push(arrival);
    wake();
  };
  const ask = (part: AsyncGenerator<T>) =>
    void part.next().then(
      (result) => arrive({ part, result }),
      (error: unknown) => arrive({ part, error }),
    );
  for (const part of parts) ask(part);
  try {
    for (let open = parts.length; open > 0; ) {
      const arrival = arrived.shift();
      if (arrival === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if ("error" in arrival) throw arrival.error;
      if (arrival.result.done === true) open -= 1;
      else {
        yield arrival.result.value;
        ask(arrival.part);
      }
    }
  } finally {
    stop();
    await Promise.allSettled(parts.map((part) => part.return(undefined)));
  }
}

type Arrival<T> = { readonly part: AsyncGenerator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly error: unknown }
);
