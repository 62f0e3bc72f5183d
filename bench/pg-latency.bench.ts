/**
 * From commit at the source to visible at the destination, at 1,000 rows per second with `syncIntervalSeconds: 1`.
 * Every row is a transaction. `ratio` is the sync interval against the p50: above 1 when half of the rows are visible
 * sooner.
 */
import { setTimeout as delay } from "node:timers/promises";
import { cdcPipe } from "../harness/postgres/pipes.ts";
import { query } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { count, secondsUntil, startPostgresBench } from "./postgres.ts";

export const description = "commit-to-visible time of single rows at 1,000 rows per second, syncIntervalSeconds 1";

const perSecond = 1_000;
const seconds = Number(process.env.SECONDS ?? 30);

export async function run(): Promise<BenchResult> {
  await using bench = await startPostgresBench();
  const { source, service } = bench;
  await source.sql("CREATE TABLE ticks (id int PRIMARY KEY, note text); INSERT INTO ticks VALUES (0, 'first')");
  const pipeId = await cdcPipe(bench.served, service, source, ["ticks"], { settings: { syncIntervalSeconds: 1 } });
  await secondsUntil(bench, pipeId, async () => (await count(bench, "SELECT count() FROM ticks_current")) === 1);
  await using client = await source.client();
  const committed: number[] = [performance.now()];
  const visible: number[] = [performance.now()];
  const total = perSecond * seconds;
  const watch = async () => {
    while (visible.length <= total) {
      const asked = performance.now();
      const highest = Number(await query(service, "SELECT max(id) FROM ticks"));
      // Rows are committed in order, so everything up to the highest is visible. The end of the query counts.
      const now = performance.now();
      while (visible.length <= Math.min(highest, total)) visible.push(now);
      if (now - (committed.at(-1) ?? 0) > 60_000)
        throw new Error(`only ${visible.length - 1} of ${total} rows within 60 s`);
      await delay(Math.max(1, 5 - (now - asked)));
    }
  };
  const write = async () => {
    const started = performance.now();
    for (let id = 1; id <= total; id += 1) {
      const due = started + (id * 1000) / perSecond;
      const early = due - performance.now();
      if (early > 0) await delay(early);
      await client.query("INSERT INTO ticks VALUES ($1, 'tick')", [id]);
      committed.push(performance.now());
    }
    return (performance.now() - started) / 1000;
  };
  const [took] = await Promise.all([write(), watch()]);
  // The first seconds are warm-up.
  const waits = visible.map((at, id) => at - (committed[id] as number)).slice(perSecond * 2);
  const [p50, p99] = [percentile(waits, 50), percentile(waits, 99)];
  return {
    rows: [
      {
        rowsPerSecond: Math.round(total / took),
        p50Ms: round(p50),
        p99Ms: round(p99),
        maxMs: round(Math.max(...waits)),
      },
    ],
    summary: {
      ratio: round(1000 / p50, 3),
      p50Ms: round(p50),
      p99Ms: round(p99),
      rowsPerSecond: Math.round(total / took),
    },
  };
}
