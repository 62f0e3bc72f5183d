/** Random charts over random tables for a limited time: a real engine against plain computation over the same rows. */
import { numberOf, seedOf } from "../harness/bounds.ts";
import { compareCharts } from "../harness/charts/compare.ts";
import { startEngine } from "../harness/engine/chart-engine.ts";

export const description = "random charts in all time zones: every value as computed plainly";

const seconds = numberOf("SECONDS", 60);
const seed = seedOf();

export async function run(): Promise<Record<string, string | number>> {
  await using engine = await startEngine();
  const until = performance.now() + seconds * 1000;
  let [charts, rows, round] = [0, 0, 0];
  for (; performance.now() < until; round += 1) {
    const compared = await compareCharts(engine, { seed: seed + round, tables: 4, chartsPerTable: 50 }).catch(
      (cause) => {
        throw new Error(`seed ${seed + round}`, { cause });
      },
    );
    charts += compared.charts;
    rows += compared.rows;
  }
  return { seed, rounds: round, charts, rows };
}
