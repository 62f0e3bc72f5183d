import { expect, test } from "vitest";
import { readFromWorker } from "./from-worker.ts";

test("messages of a worker are passed on as they are", () => {
  const messages = [
    { type: "load", utilization: 0.5 },
    { type: "fault", slot: 1 },
    { type: "ended", slot: 1, failed: true },
    { type: "gauges", slot: 1, gauges: { lagMessages: 7, lagSeconds: null } },
    { type: "call", slot: 1, id: 3, name: "begin", args: [{ anything: [1] }] },
    { type: "status", slot: 1, status: { phase: "running" } },
    { type: "status", slot: 1, status: { phase: "failed", reason: "it broke" } },
  ];
  for (const message of messages) expect(readFromWorker(message)).toBe(message);
});

test.each([
  ["no object", null],
  ["an unknown type", { type: "__proto__", slot: 1 }],
  ["no status", { type: "status", slot: 1, status: null }],
  ["an unknown phase", { type: "status", slot: 1, status: { phase: "constructor" } }],
  ["no reason", { type: "status", slot: 1, status: { phase: "failed" } }],
  ["gauges that are not numbers", { type: "gauges", slot: 1, gauges: { lag: "x" } }],
  ["arguments that are not a list", { type: "call", slot: 1, id: 1, name: "begin", args: {} }],
])("a message with %s is refused", (_, message) => {
  expect(() => readFromWorker(message)).toThrow();
});
