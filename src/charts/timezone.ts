/** Wall-clock arithmetic in an IANA time zone. Times are milliseconds since the epoch; no dependency, `Intl` only. */

const formats = new Map<string, Intl.DateTimeFormat>();
const maxFormats = 500;

export type WallClock = {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
};

/** True for a name that this runtime knows; only IANA names and UTC, so that the engine knows it too. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** How far the zone's wall clock is ahead of UTC at an instant, in ms. */
export function offsetAt(ms: number, zone: string): number {
  if (zone === "UTC") return 0;
  const parts = Object.fromEntries(
    format(zone)
      .formatToParts(ms)
      .map((part) => [part.type, Number(part.value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/**
 * The instant of a wall-clock time. In the hour that a clock change skips, the time as far after the change as it was
 * written after the skipped hour's begin; in the repeated hour, the first of the two.
 */
export function instantOf(clock: WallClock, zone: string): number {
  const asUtc = Date.UTC(clock.year, clock.month - 1, clock.day, clock.hour, clock.minute, clock.second);
  if (zone === "UTC") return asUtc;
  const early = asUtc - offsetAt(asUtc - 86_400_000, zone);
  const late = asUtc - offsetAt(asUtc + 86_400_000, zone);
  const first = Math.min(early, late);
  if (first + offsetAt(first, zone) === asUtc) return first;
  const second = Math.max(early, late);
  return second;
}

function format(zone: string): Intl.DateTimeFormat {
  let made = formats.get(zone);
  if (made === undefined) {
    if (formats.size >= maxFormats) formats.clear();
    made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, made);
  }
  return made;
}
