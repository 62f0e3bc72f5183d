/** The one time zone in which the console shows and reads times: the browser's, or one that was chosen here. */
import { Store } from "./store.ts";

const key = "millrace.zone";

/** IANA name of the browser's zone. */
export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** IANA name. What shows times is rendered again when it changes. */
export const zoneStore = new Store<string>(stored());

export function chooseZone(zone: string): void {
  if (zone === browserZone) localStorage.removeItem(key);
  else localStorage.setItem(key, zone);
  zoneStore.set(zone);
}

/** All zones that the browser knows, with the usual ones first. */
export function knownZones(): string[] {
  return [...new Set([browserZone, "UTC", ...Intl.supportedValuesOf("timeZone")])];
}

function stored(): string {
  const zone = globalThis.localStorage?.getItem(key) ?? browserZone;
  return isZone(zone) ? zone : browserZone;
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-22 14:05:09` in the zone. */
export function timeText(ms: number, zone = zoneStore.get()): string {
  if (!Number.isFinite(ms)) return "";
  let format = formats.get(zone);
  if (format === undefined) {
    const digits = { month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
    format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, year: "numeric", ...digits });
    formats.set(zone, format);
  }
  return format.format(ms);
}

/** The name of the zone with its distance from UTC at a time, or at both ends of a range: `Europe/Berlin (UTC+1)`. */
export function zoneText(ms: number, until = ms, zone = zoneStore.get()): string {
  if (zone === "UTC") return zone;
  const distances = new Set([ms, until].map((end) => distanceText(Math.round(offsetMs(end, zone) / 60_000))));
  return `${zone} (${[...distances].join(", then ")})`;
}

function distanceText(minutes: number): string {
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

/** Milliseconds since 1970 of a local time `2026-11-22T14:05:09` in the zone; NaN for a date that does not exist. */
export function parseLocal(text: string, zone = zoneStore.get()): number {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return asUtc;
  // The offset of the time before the change of a clock is near enough to find the one that holds.
  const near = asUtc - offsetMs(asUtc, zone);
  return asUtc - offsetMs(near, zone);
}

function offsetMs(ms: number, zone: string): number {
  const whole = Math.floor(ms / 1000) * 1000;
  return Date.parse(`${timeText(whole, zone).replace(" ", "T")}Z`) - whole;
}
