/**
 * Waits of the whole process that end in the same turn of the event loop, so that what follows can be done together,
 * and takes less than at moments of its own.
 */

type Moment = { readonly waiting: Set<() => void>; readonly timer: NodeJS.Timeout };

const moments = new Map<string, Moment>();

/** Share of a pause by which it may end early; a second at most. */
const earlyShare = 1 / 16;
const mostEarlyMs = 1_000;

/**
 * Resolves at the next tick of the interval, after `everyMs` at the latest, or immediately when the signal aborts. The
 * first caller determines the time of the tick. Never rejects: callers check `signal.aborted`.
 */
export function untilTick(everyMs: number, signal: AbortSignal): Promise<void> {
  return untilMoment(`every ${everyMs}`, everyMs, signal);
}

/**
 * Like `sleep`, but may end early by a sixteenth, and at most by a second, together with other pauses that end at about
 * the same time.
 */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const step = Math.max(1, Math.min(mostEarlyMs, Math.floor(ms * earlyShare)));
  const now = performance.now();
  const end = Math.floor((now + ms) / step) * step;
  return untilMoment(`at ${end}`, Math.max(0, end - now), signal);
}

function untilMoment(name: string, afterMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const moment = moments.get(name) ?? startMoment(name, afterMs);
    const done = () => {
      moment.waiting.delete(done);
      signal.removeEventListener("abort", done);
      if (moment.waiting.size === 0) endMoment(name, moment);
      resolve();
    };
    moment.waiting.add(done);
    signal.addEventListener("abort", done);
  });
}

function startMoment(name: string, afterMs: number): Moment {
  const waiting = new Set<() => void>();
  const timer = setTimeout(() => {
    endMoment(name, moment);
    for (const done of waiting) done();
  }, afterMs);
  const moment = { waiting, timer };
  moments.set(name, moment);
  return moment;
}

/** Later callers get a moment of their own. */
function endMoment(name: string, moment: Moment): void {
  clearTimeout(moment.timer);
  if (moments.get(name) === moment) moments.delete(name);
}
