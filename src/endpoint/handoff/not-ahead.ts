/**
 * The time, or the present one when it lies ahead: it was noted before the clock was set back. Whoever keeps the result
 * waits from now on, and not until the clock is there again. Both are milliseconds since 1970.
 */
export function notAhead(time: number): number {
  return Math.min(time, Date.now());
}
