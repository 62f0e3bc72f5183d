import { expect, test } from "vitest";
import { extentOf, isEmpty } from "./data-range.ts";

const answer = (values: readonly (number | string | null)[]) =>
  ({
    data: values.map((value, at) => ({ ts_bucket: at * 10, group: [], "series_0.data": value })),
    meta: { bucketMs: 10 },
  }) as unknown as Parameters<typeof extentOf>[0];

test("zeros that fill gaps are not rows, and the extent is that of the buckets with rows", () => {
  expect(isEmpty(answer([0, null, "0"]))).toBe(true);
  expect(isEmpty(answer([0, "3"]))).toBe(false);
  expect(extentOf(answer([0, 5, 0, "7", 0]))).toEqual({ from: 10, to: 39 });
  expect(extentOf(answer([0, null]))).toBeUndefined();
});
