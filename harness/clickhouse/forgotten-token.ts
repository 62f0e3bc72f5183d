/**
 * A batch that is repeated after its table forgot the token: with a window of a second its rows double, with that of a
 * pipe's table they do not. The repetition is the same insert, as a worker sends it after a long stop.
 */
import { windowSettings } from "../../src/clickhouse/table-form.ts";
import { until } from "../serve.ts";
import { clusterDatabase, type Replica, type TestCluster } from "./cluster.ts";

const batch = 1_000;
/** The engine looks for tokens to forget this often, in seconds, instead of every half minute. */
const cleanUp = "cleanup_delay_period = 1, max_cleanup_delay_period = 1, cleanup_delay_period_random_add = 0";

/** Rows of the batch in each table after the repetition. Throws unless only the short window doubles them. */
export async function doublesWithoutWindow(cluster: TestCluster): Promise<{ short: number; long: number }> {
  const [{ server }] = cluster.replicas as [Replica];
  const own = windowSettings({ isReplicated: true }).join(", ");
  const windows = { short: "replicated_deduplication_window_seconds = 1", long: own };
  for (const [name, window] of Object.entries(windows)) {
    const engine = `ReplicatedMergeTree ORDER BY id SETTINGS ${window}, ${cleanUp}`;
    await cluster.onEach(`CREATE TABLE ${name} (id UInt64) ENGINE = ${engine}`);
  }
  const insert = async (table: string, token: string, from: number, count: number) => {
    const sql = `INSERT INTO ${table} SELECT number FROM numbers(${from}, ${count})`;
    const settings = { insert_deduplicate: 1, insert_deduplication_token: token, async_insert: 0 };
    await server.client.command(sql, { database: clusterDatabase, settings });
  };
  const rowsOf = async (table: string) => {
    const sql = `SELECT countIf(id < ${batch}) FROM ${table}`;
    return Number(await server.client.text(sql, { database: clusterDatabase }));
  };
  for (const name of Object.keys(windows)) await insert(name, "batch", 0, batch);
  let other = 0;
  await until(
    "the table with the short window has forgotten the batch",
    async () => {
      // Age counts from the newest token, so that others have to come.
      other += 1;
      await insert("short", `other ${other}`, batch + other, 1);
      await insert("short", "batch", 0, batch);
      return (await rowsOf("short")) > batch;
    },
    120_000,
  );
  await insert("long", "other", batch + 1, 1);
  await insert("long", "batch", 0, batch);
  const rows = { short: await rowsOf("short"), long: await rowsOf("long") };
  if (rows.long !== batch) throw new Error(`${rows.long} rows of ${batch} with the window of a pipe's table`);
  return rows;
}
