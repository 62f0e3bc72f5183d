import { describe, expect, test } from "vitest";
import type { TimelineHistory } from "../declaration/durable.ts";
import { divergencePoint, parseTimelineHistory } from "./timeline-history.ts";

const of = (...timelines: (readonly [id: number, end?: string])[]): TimelineHistory => ({
  system: "1",
  timelines: timelines.map(([id, end]) => (end === undefined ? { id } : { id, end })),
});

describe("the history of a log", () => {
  test("a history file gives the timelines before", () => {
    expect(
      parseTimelineHistory("1\t0/3021D30\tno recovery target specified\n\n2\tA/FF\tbefore 2000-01-01 01:00:00\n"),
    ).toEqual([
      { id: 1, end: "0/3021D30" },
      { id: 2, end: "A/FF" },
    ]);
    expect(parseTimelineHistory("")).toEqual([]);
  });

  test.each([
    ["the same", of([1]), of([1]), undefined],
    ["the same after a promotion", of([1, "0/10"], [2]), of([1, "0/10"], [2]), undefined],
    ["promoted", of([1]), of([1, "0/10"], [2]), 0x10n],
    ["promoted twice since", of([1]), of([1, "0/10"], [2, "0/20"], [3]), 0x10n],
    ["promoted again", of([1, "0/10"], [2]), of([1, "0/10"], [2, "0/20"], [3]), 0x20n],
    ["the old primary again", of([1, "0/10"], [2]), of([1]), 0x10n],
    ["two standbys promoted to the same number", of([1, "0/10"], [2]), of([1, "0/18"], [2]), 0x10n],
    ["two standbys promoted at the same place", of([1, "0/10"], [2]), of([1, "0/10"], [3]), 0x10n],
    ["another cluster", of([1]), { ...of([1]), system: "2" }, 0n],
  ])("%s", (_, known, now, fork) => {
    expect(divergencePoint(known, now)).toBe(fork);
  });
});
