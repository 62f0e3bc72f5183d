/**
 * Wall-clock arithmetic in an IANA time zone. Times are milliseconds since the epoch; no dependency, `Intl` only. This
 * is the one source of offsets for charts: an engine never reads a zone's rules, because one request may ask several
 * engines, whose rules may be of other years than those here.
 */
import { badRequest } from "../lib/errors.ts";
import { nearMatches } from "../lib/near-matches.ts";

const dayMs = 86_400_000;

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

/** True for a name that this runtime knows; only IANA names and UTC. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Names of zones that are like one that is unknown: the name itself, or the city alone. */
function nearTimeZones(name: string): string[] {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = name.trim().replaceAll(" ", "_").toLowerCase();
  const sameCity = zones.filter((zone) => zone.toLowerCase().split("/").at(-1) === city.split("/").at(-1));
  return sameCity.length > 0 ? sameCity.slice(0, 3) : nearMatches(name, zones);
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

/** The day of the zone's calendar at an instant, in days since 1970-01-01. */
export function dayAt(ms: number, zone: string): number {
  return Math.floor((ms + offsetAt(ms, zone)) / dayMs);
}

/** A stretch of time in which a zone keeps its offset. It ends where the next one begins. */
export type Stretch = { readonly fromMs: number; readonly offsetMs: number };

/** Clocks are looked at this often. No zone has changed its clocks twice within six days since 1970. */
const lookMs = 4 * dayMs;
const looked = new Map<string, readonly Stretch[]>();
/** Zones and spans whose stretches are remembered at a time. */
const maxLooked = 20_000;
/** Spans that are looked at together: about half a year. */
const spanMs = 48 * lookMs;

/** The zone's offsets from `fromMs` up to `untilMs`, in order; the first one begins at -Infinity. */
export function stretchesOf(zone: string, fromMs: number, untilMs: number): readonly Stretch[] {
  const stretches: Stretch[] = [{ fromMs: Number.NEGATIVE_INFINITY, offsetMs: offsetAt(fromMs, zone) }];
  if (zone === "UTC") return stretches;
  for (let span = Math.floor(fromMs / spanMs); span * spanMs < untilMs; span += 1) {
    for (const change of changesIn(zone, span)) {
      if (change.fromMs > fromMs && change.fromMs < untilMs) stretches.push(change);
    }
  }
  return stretches;
}

/** The stretches that begin within a span. */
function changesIn(zone: string, span: number): readonly Stretch[] {
  const key = `${zone} ${span}`;
  const known = looked.get(key);
  if (known !== undefined) return known;
  const changes: Stretch[] = [];
  let before = offsetAt(span * spanMs, zone);
  for (let at = span * spanMs; at < (span + 1) * spanMs; at += lookMs) {
    const after = offsetAt(at + lookMs, zone);
    if (after !== before) changes.push({ fromMs: changeWithin(zone, at, at + lookMs, before), offsetMs: after });
    before = after;
  }
  if (looked.size >= maxLooked) looked.clear();
  looked.set(key, changes);
  return changes;
}

/** The first second at which the offset is another than `before`, after `low` and up to `high`. */
function changeWithin(zone: string, low: number, high: number, before: number): number {
  let [same, other] = [low, high];
  while (other - same > 1000) {
    const middle = same + Math.floor((other - same) / 2000) * 1000;
    if (offsetAt(middle, zone) === before) same = middle;
    else other = middle;
  }
  return other;
}

/**
 * The instant of a wall-clock time. In the hour that a clock change skips, the time as far after the change as it was
 * written after the skipped hour's begin; in the repeated hour, the first of the two.
 */
export function instantOf(clock: WallClock, zone: string): number {
  const asUtc = Date.UTC(clock.year, clock.month - 1, clock.day, clock.hour, clock.minute, clock.second);
  if (zone === "UTC") return asUtc;
  const early = asUtc - offsetAt(asUtc - dayMs, zone);
  const late = asUtc - offsetAt(asUtc + dayMs, zone);
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

/** Throws AppError with the zones that may be meant. */
export function requireTimeZone(name: string): void {
  if (isTimeZone(name)) return;
  const near = nearTimeZones(name);
  throw badRequest(
    "timezone",
    `is not an IANA time zone${near.length === 0 ? "" : `; did you mean ${near.join(", ")}?`}`,
  );
}
