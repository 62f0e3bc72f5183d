import { expect, test } from "vitest";
import { lastWindow } from "./windows.ts";

const at = (text: string) => Date.parse(`2024-05-01T${text}Z`);
const times = (window: ReturnType<typeof lastWindow>) =>
  window && [window.startMs, window.endMs].map((ms) => new Date(ms).toISOString().slice(11, 19));

test.each([
  [{ interval: "5m" }, "10:07:30", ["10:00:00", "10:05:00"]],
  [{ interval: "5m" }, "10:05:00", ["10:00:00", "10:05:00"]],
  [{ interval: "5m", scheduleOffsetMinutes: 2 }, "10:06:59", ["09:57:00", "10:02:00"]],
  [{ interval: "1d" }, "10:00:00", ["00:00:00", "00:00:00"]],
  [{ interval: "1h", scheduleStartAt: "2024-05-01T08:20:00Z" }, "10:00:00", ["08:20:00", "09:20:00"]],
  [{ interval: "1h", scheduleStartAt: "2024-05-01T09:20:00Z" }, "10:00:00", undefined],
] as const)("the last window of %j at %s is %j", (schedule, now, expected) => {
  expect(times(lastWindow(schedule, at(now)))).toEqual(expected);
});

test("windows follow one another without a gap, whenever one looks", () => {
  const schedule = { interval: "15m", scheduleOffsetMinutes: 4 } as const;
  const ends = new Set<number>();
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    const window = lastWindow(schedule, at("00:00:00") + minute * 60_000);
    expect((window?.endMs ?? 0) - (window?.startMs ?? 0)).toBe(900_000);
    ends.add(window?.endMs ?? 0);
  }
  const sorted = [...ends].sort((a, b) => a - b);
  expect(sorted.slice(1).every((end, i) => end - (sorted[i] as number) === 900_000)).toBe(true);
});
