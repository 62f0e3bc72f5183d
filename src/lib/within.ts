/** Resolves when the promise settles, however it does, and at the latest after `ms`. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise.then(noop, noop), late]);
  clearTimeout(timer);
}

function noop(): void {}
