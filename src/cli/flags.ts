/** Flags that several commands share, and the parsing of their values. */
import type { Command } from "commander";
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
