/** Passes on what a child process writes to its standard error as lines of our own log. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Logger } from "./logger.ts";

const levels = ["debug", "info", "warn", "error", "fatal"] as const;

/** `fields`, such as the child's object, are added to every line. A line that is not of a log is a warning. */
export function relayOutput(output: Readable | null, logger: Logger, fields: Readonly<Record<string, unknown>>): void {
  if (output === null) return;
  output.on("error", () => {});
  createInterface({ input: output }).on("line", (line) => {
    if (line.trim() === "") return;
    const { level, time: _, msg, ...own } = entryOf(line) ?? { msg: line };
    logger[levels.find((name) => name === level) ?? "warn"]({ ...own, ...fields }, String(msg ?? ""));
  });
}

type Entry = { readonly level?: unknown; readonly time?: unknown; readonly msg?: unknown };

function entryOf(line: string): Entry | undefined {
  if (!line.startsWith('{"level":')) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return undefined;
  }
}
