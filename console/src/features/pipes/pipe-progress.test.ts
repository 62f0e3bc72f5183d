import { expect, test } from "vitest";
import { lanesOf } from "./pipe-progress.tsx";

test("gauges of partitions, shards and tables are rows of a table, in the order of their numbers", () => {
  const progress = { sentRows: 5, "lagMessages:clicks/10": 1, "lagMessages:clicks/9": 2, "lagSeconds:clicks/10": 3 };
  expect(lanesOf(progress)).toEqual([
    { name: "clicks/9", values: { lagMessages: 2 } },
    { name: "clicks/10", values: { lagMessages: 1, lagSeconds: 3 } },
  ]);
});
