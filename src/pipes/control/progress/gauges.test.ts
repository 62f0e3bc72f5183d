import { expect, test } from "vitest";
import { gaugesOfAll, knownGauges } from "./gauges.ts";

test("what is counted is summed, what takes time is the longest", () => {
  const workers: Record<string, number>[] = [
    { lagMessages: 2, latencyMs: 10, "lagMessages:t/0": 2 },
    { lagMessages: 3, latencyMs: 7, "lagMessages:t/1": 3 },
  ];
  expect(gaugesOfAll(workers)).toEqual({ lagMessages: 5, latencyMs: 10, "lagMessages:t/0": 2, "lagMessages:t/1": 3 });
});

test("lag that one worker does not know yet is absent, not the lag of the others", () => {
  expect(gaugesOfAll([{ lagMessages: 2, "lagMessages:t/0": 2 }, {}])).toEqual({ "lagMessages:t/0": 2 });
});

test("while the source is away nobody knows that the pipe has reached its end", () => {
  const left = { "lagSeconds:t/1": 90, filesPending: 1, latencyMs: 10 };
  const gauges = { ...left, lagMessages: 0, "lagSeconds:t/0": 0, "millisBehindLatest:s": 0, etaSeconds: 30 };
  const reason = "the source fails";
  expect(knownGauges({ gauges, status: { phase: "degraded", reason, isSourceAway: true } })).toEqual(left);
  expect(knownGauges({ gauges, status: { phase: "degraded", reason: "a table stopped" } })).toEqual(gauges);
  expect(knownGauges({ gauges, status: { phase: "running" } })).toEqual(gauges);
});
