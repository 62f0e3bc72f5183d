/** Flags that several commands share, and the parsing of their values. */
import type { Command } from "commander";
import { decimalOf } from "../lib/decimal.ts";
import { usageError } from "./errors.ts";

/** Adds `--wait` and `--timeout`. */
export function addWaitFlags(command: Command, until: string): Command {
  return command
    .option("--wait", `Waits until ${until}`)
    .option("--timeout <duration>", "With --wait: gives up after this time (30s, 5m), exit code 124");
}

/** Adds `--yes`. */
export function addYesFlag(command: Command): Command {
  return command.option("-y, --yes", "Does not ask");
}

/** Collects the values of a flag that may be repeated. */
export function repeated(value: string, previous: readonly string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** An integer. Throws a usage error that names the flag. */
export function integerFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^-?\d+$/.test(text)) throw usageError(`${flag} ${text}: not an integer`);
  return Number(text);
}

/** A number in decimal digits. Throws a usage error that names the flag. */
export function numberFlag(flag: string, text: string): number {
  const number = decimalOf(text);
  if (number === undefined) throw usageError(`${flag} ${text}: not a number in decimal digits`);
  return number;
}

/** One of the values. Throws a usage error that lists them. */
export function choiceFlag<const T extends string>(
  flag: string,
  text: string | undefined,
  values: readonly T[],
): T | undefined {
  if (text === undefined) return undefined;
  const found = values.find((value) => value === text);
  if (found === undefined) throw usageError(`${flag} ${text}: must be one of ${values.join(", ")}`);
  return found;
}

/** `key=value`. Throws a usage error without `=`. */
export function pairFlag(flag: string, text: string): [key: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError(`${flag} ${text}: must be key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The members that have a value. */
export function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** The members, or undefined if there are none. */
export function orUndefined<T extends object>(members: T): T | undefined {
  return Object.keys(members).length === 0 ? undefined : members;
}

/** Durations and times of flags. */
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
