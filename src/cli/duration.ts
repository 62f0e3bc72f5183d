/** Durations and times of flags. */
import { usageError } from "./errors.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30s`, `5m`, `2h`, `1d`, `250ms`, or seconds without a unit, in ms. Throws a usage error that names the flag. */
export function durationMs(text: string, flag: string): number {
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  if (number === undefined)
    throw usageError(`${flag} ${text}: not a duration`, "Durations look like 30s, 5m, 2h or 1d.");
  return Number(number) * unitMs[unit as keyof typeof unitMs];
}

/** A moment: an ISO time, or a duration before now. In ms. */
export function momentMs(text: string, flag: string, now = Date.now()): number {
  if (text === "now") return now;
  if (/^\d{4}-/.test(text)) {
    const time = Date.parse(text);
    if (!Number.isNaN(time)) return time;
  }
  return now - durationMs(text.replace(/^now-/, ""), flag);
}
