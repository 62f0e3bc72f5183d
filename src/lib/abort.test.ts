import { expect, test } from "vitest";
import { abortable } from "./abort.ts";

test("a rejection after an abort is nobody's, also when the signal had aborted before", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  const controller = new AbortController();
  const [before, after] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waits = [abortable(before.promise, controller.signal)];
  controller.abort("over");
  waits.push(abortable(after.promise, controller.signal));
  for (const wait of waits) await expect(wait).rejects.toBe("over");
  for (const late of [before, after]) late.reject(new Error("the connection was closed"));
  // Unhandled rejections are told after the microtasks of a turn.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});
