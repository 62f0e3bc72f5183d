/** Passes on what a child process writes to its standard error as lines of our own log. */
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { parsedJson } from "./json.ts";
import type { Logger } from "./logger.ts";

const levels = ["debug", "info", "warn", "error", "fatal"] as const;

/** A longer line is cut here: the child may be hostile, and may never end its line. */
const maxLineLength = 65_536;

/**
 * `fields`, such as the child's object, are added to every line. A line that is not of a log is a warning. The rest of
 * a line after 64 KiB is dropped.
 */
export function logOutput(output: Readable | null, logger: Logger, fields: Readonly<Record<string, unknown>>): void {
  if (output === null) return;
  output.on("error", () => {});
  eachLine(output, (line) => {
    if (line.trim() === "") return;
    try {
      const { level, time: _, msg, ...own } = entryOf(line) ?? { msg: line };
      const text = typeof msg === "string" ? msg : JSON.stringify(msg ?? "");
      logger[levels.find((name) => name === level) ?? "warn"]({ ...own, ...fields }, text);
    } catch {
      // It may be nested too deeply to be written.
      logger.warn(fields, "a line of the process's log cannot be written");
    }
  });
}

/** Never holds more than one line of the greatest length. */
function eachLine(output: Readable, use: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let begun = "";
  const add = (text: string) => {
    begun += text.slice(0, maxLineLength - begun.length);
  };
  const end = () => {
    use(begun.replace(/\r$/, ""));
    begun = "";
  };
  output.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    add(first);
    for (const text of others) {
      end();
      add(text);
    }
  });
  output.once("end", end);
}

type Entry = { readonly level?: unknown; readonly time?: unknown; readonly msg?: unknown };

function entryOf(line: string): Entry | undefined {
  return line.startsWith('{"level":') ? (parsedJson(line) as Entry | undefined) : undefined;
}
