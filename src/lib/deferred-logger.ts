/** A logger for a program whose start is urgent and which rarely logs: the first line loads the library. */
import type { Logger } from "./logger.ts";

/** What a room needs that only writes lines. */
export type LineLogger = Pick<Logger, "warn" | "error">;

/** Lines are written in their order, a moment later. */
export function deferredLogger(open: () => Promise<Logger>): LineLogger {
  let opened: Promise<Logger> | undefined;
  const writer = (level: keyof LineLogger) =>
    ((...line: Parameters<Logger["warn"]>) => {
      opened ??= open();
      void opened.then((logger) => logger[level](...line));
    }) as Logger["warn"];
  return { warn: writer("warn"), error: writer("error") };
}
