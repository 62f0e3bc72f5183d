import { expect, test } from "vitest";
import { chartDefinition, requestOf } from "./definition.ts";
import { answerBefore, type ChartAnswer } from "./use-chart.ts";

const body = (display: string, groupBy = "", to = 3_600_000) =>
  requestOf(chartDefinition({ sourceId: "s", display, groupBy }), { from: 0, to }, "UTC", "never");

test("rows of buckets never stand for a table or a number, nor those for each other", () => {
  const before = { data: [] } as unknown as ChartAnswer;
  const stays = [
    [body("bar"), body("line", "a", 7_200_000)],
    [body("table", "a"), body("table", "a", 7_200_000)],
  ] as const;
  for (const [asked, next] of stays) expect(answerBefore(before, asked, next)).toBe(before);
  const differ = [body("bar", "a"), body("table", "a"), body("number", "a"), body("table", "b")];
  for (const asked of differ)
    for (const next of differ)
      if (asked !== next) expect(answerBefore(before, asked, next), JSON.stringify([asked, next])).toBeUndefined();
});
