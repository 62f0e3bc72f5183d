import { expect, test, vi } from "vitest";
import { Lag } from "./lag.ts";

test("the lag of the pipe is unknown until every partition has answered", () => {
  vi.useFakeTimers({ now: 10_000 });
  try {
    const gauges: Record<string, number> = {};
    const lag = new Lag((reported) => Object.assign(gauges, reported));
    lag.report();
    expect(gauges).toEqual({});
    lag.assigned(2);
    lag.seen({ lane: "t/0", topic: "t", partition: 0, position: 5 }, 8);
    vi.advanceTimersByTime(1_000);
    lag.report();
    // Nothing is durable yet, so that the age of what waits is not known.
    expect(gauges).toEqual({ "lagMessages:t/0": 3 });
    lag.seen({ lane: "t/1", topic: "t", partition: 1, position: 0 }, 4);
    vi.advanceTimersByTime(1_000);
    lag.report();
    expect(gauges.lagMessages).toBe(7);
  } finally {
    vi.useRealTimers();
  }
});
