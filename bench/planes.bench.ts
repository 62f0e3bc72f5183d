/**
 * Batches per second of the store on SQLite and on Postgres: intent, confirmation and counters, with the fences. Then
 * how long pipes rest when their worker is killed or stopped, and how fast a server answers meanwhile.
 */
import { MissingTool } from "../harness/missing.ts";
import { postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { databaseUrl } from "../harness/stores.ts";
import { type BenchResult, round } from "./bench.ts";
import { measureTakeover } from "./planes-takeover.ts";
import { type BatchRate, batchRates } from "./store-batches.ts";

export const description =
  "confirmed batches per second of the metadata store, and takeover of pipes by another worker";

const seconds = 4;
const widths = [1, 8, 64] as const;
export async function run(): Promise<BenchResult> {
  const missing = postgresMissing(18);
  if (missing !== undefined) throw new MissingTool(missing);
  // Durable on both sides.
  await using postgres = await TestPostgres.start({ version: 18, onDisk: true, settings: { fsync: "on" } });
  const sqlite = await batchRates(widths, seconds);
  const onPostgres = await batchRates(widths, seconds, await databaseUrl(postgres, "bench"));
  const rows = widths.map((width, i) => ({
    ...{ "at a time": width, SQLite: sqlite[i]?.perSecond ?? 0, Postgres: onPostgres[i]?.perSecond ?? 0 },
    ...{ "CPU us, SQLite": sqlite[i]?.cpuUs ?? 0, "CPU us, Postgres": onPostgres[i]?.cpuUs ?? 0 },
  }));
  const takeover = await measureTakeover(postgres);
  const [own, other] = [sqlite, onPostgres].map((rates) => rates.at(-1) as BatchRate) as [BatchRate, BatchRate];
  const rates = { sqlitePerSecond: own.perSecond, postgresPerSecond: other.perSecond };
  const cpu = { sqliteCpuUs: own.cpuUs, postgresCpuUs: other.cpuUs };
  return { rows, summary: { ratio: round(other.perSecond / own.perSecond), ...rates, ...cpu, ...takeover } };
}
