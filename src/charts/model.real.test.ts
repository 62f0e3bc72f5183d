/**
 * Charts say what the same rows say when they are computed plainly: whatever the table, its times, the range, the zone.
 */
import { expect, test } from "vitest";
import { compareCharts } from "../../harness/charts/compare.ts";
import { startEngine } from "../../harness/engine/chart-engine.ts";

test("random charts over random tables, in zones from the whole list, by lists of time expressions", async () => {
  await using engine = await startEngine();
  const { charts, rows } = await compareCharts(engine, { seed: 11, tables: 12, chartsPerTable: 40 });
  expect(charts).toBe(480);
  expect(rows).toBeGreaterThan(2000);
});
