/** How cost grows with work. */
import { type BenchResult, round } from "./bench.ts";
import { backupOfParts, batchesOfPipes, chartOfRows, listingOfObjects } from "./growth-data.ts";
import { listOfPipes, readyTimes, startOfServices } from "./growth-servers.ts";

export const description = "cost of a unit of work, with little and with much of it";

/** Within these, no further size is begun. */
const limitMs = 8 * 60_000;

export async function run(): Promise<BenchResult> {
  // First: a package that cannot be made ends the run at once.
  const ready = await readyTimes();
  const deadline = performance.now() + limitMs;
  const rows: Record<string, string | number>[] = [];
  const summary: Record<string, number> = {};
  for (const growth of [batchesOfPipes, listingOfObjects, listOfPipes, startOfServices, chartOfRows, backupOfParts]) {
    const { name, unit, costs } = await growth(deadline);
    for (const { work, cost, more } of costs) {
      rows.push({ what: `${name}, ${unit}`, work, "a unit costs": round(cost, 3), ...more });
    }
    const [before, last] = costs.slice(-2).map(({ cost }) => cost);
    if (costs.length > 1) summary[`${name}Growth`] = round((last as number) / (before as number));
  }
  return { rows, summary: { ...summary, ...ready } };
}
