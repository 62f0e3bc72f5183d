import { expect, test } from "vitest";
import { deferredLogger } from "./deferred-logger.ts";
import { createLogger } from "./logger.ts";

test("a deferred logger is opened by its first line, once, and writes lines in their order", async () => {
  const lines: string[] = [];
  let opened = 0;
  const logger = deferredLogger(async () => {
    opened += 1;
    return createLogger("warn", { write: (line) => void lines.push(line) });
  });
  expect(opened).toBe(0);
  logger.warn({ a: 1 }, "first");
  logger.error({ password: "hidden" }, "second");
  await new Promise(setImmediate);
  expect(opened).toBe(1);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", a: 1, msg: "first" },
    { level: "error", password: "[redacted]", msg: "second" },
  ]);
});
