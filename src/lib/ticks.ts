/** Ticks that all callers of the process share, so that what they do at the same time can be done together. */

const ticks = new Map<number, Set<() => void>>();

/**
 * Resolves at the next tick of the interval, after `everyMs` at the latest, or immediately when the signal aborts. All
 * that wait for one interval continue in the same turn of the event loop. Never rejects: callers check
 * `signal.aborted`.
 */
export function untilTick(everyMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const waiting = ticks.get(everyMs) ?? startTick(everyMs);
    const done = () => {
      waiting.delete(done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    waiting.add(done);
    signal.addEventListener("abort", done);
  });
}

/** The first caller determines the time of the tick. */
function startTick(everyMs: number): Set<() => void> {
  const waiting = new Set<() => void>();
  ticks.set(everyMs, waiting);
  setTimeout(() => {
    ticks.delete(everyMs);
    for (const done of waiting) done();
  }, everyMs);
  return waiting;
}
