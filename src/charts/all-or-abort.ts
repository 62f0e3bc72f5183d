/** Waiting for several queries of one request. */

/** Waits for all to end; the first failure is passed to `abort` at once and thrown at the end. */
export async function allOrAbort<T>(promises: readonly Promise<T>[], abort?: (reason: unknown) => void): Promise<T[]> {
  let failed: { error: unknown } | undefined;
  for (const promise of promises) {
    promise.catch((error) => {
      failed ??= { error };
      abort?.(error);
    });
  }
  const settled = await Promise.allSettled(promises);
  if (failed !== undefined) throw failed.error;
  return settled.map((one) => (one as PromiseFulfilledResult<T>).value);
}

/** Waits for the end without throwing; `value` gives the value or throws the error. */
export async function settle<T>(promise: Promise<T>): Promise<{ readonly failed: boolean; readonly value: () => T }> {
  try {
    const value = await promise;
    return { failed: false, value: () => value };
  } catch (error) {
    const fail = () => {
      throw error;
    };
    return { failed: true, value: fail };
  }
}
