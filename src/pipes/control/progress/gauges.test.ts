import { expect, test } from "vitest";
import { gaugesOfAll } from "./gauges.ts";

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
