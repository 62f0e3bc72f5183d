/** The server's clock: ages are right although the browser's clock is not. */

let offsetMs = 0;

/** From the Date header of a response, which has seconds. Smaller differences than 2 s are those of the header. */
export function noteDate(header: string | null): void {
  if (header === null) return;
  const difference = Date.parse(header) + 500 - Date.now();
  if (Number.isFinite(difference)) offsetMs = Math.abs(difference) < 2_000 ? 0 : difference;
}

/** The time at the server, in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
