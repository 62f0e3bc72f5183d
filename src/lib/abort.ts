/**
 * Waits and children of an AbortSignal. They remove their listeners again, as all code that adds one must:
 * `AbortSignal.any` and `Promise.race` with a long-lived signal leak a little on every pass (nodejs/node #54614).
 */

/** Resolves after `ms`, or immediately when the signal aborts. Never rejects: callers check `signal.aborted`. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

export type ChildAbort = Disposable & {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
};

/**
 * A controller that aborts with its parent. Dispose it when the work ends, so that its listener is removed from the
 * parent.
 */
export function childOf(parent: AbortSignal): ChildAbort {
  const controller = new AbortController();
  const onAbort = () => controller.abort(parent.reason);
  if (parent.aborted) onAbort();
  else parent.addEventListener("abort", onAbort);
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => parent.removeEventListener("abort", onAbort),
  };
}

/**
 * Settles as the promise does, or rejects with the signal's reason as soon as it aborts. A later rejection of the
 * promise is nobody's.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

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
