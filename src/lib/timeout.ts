/** Resolves when the promise settles, either way, and at the latest after `ms`; true when it has settled. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const settled = await Promise.race([promise.then(yes, yes), late]);
  clearTimeout(timer);
  return settled;
}

function yes(): boolean {
  return true;
}
