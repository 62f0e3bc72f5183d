/**
 * A Postgres pipe under a random workload and random kills: worker, engine host, control plane and source are killed
 * with -9, pipe and service are stopped and started; in the end every table equals its source, row by row. `SEED`
 * repeats a run's choices, `SECONDS` bounds it (default 90), `DDL=1` also changes columns, `PG=16` selects another
 * server. `FAILOVER=1` gives the source a standby, which is promoted occasionally in place of a primary that is killed
 * with -9.
 */
import { setTimeout as delay } from "node:timers/promises";
import { assertAccounted } from "../harness/accounting.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { FailoverPair } from "../harness/postgres/failover.ts";
import { FaultInjector } from "../harness/postgres/fault-injector.ts";
import { cdcPipe } from "../harness/postgres/pipes.ts";
import { type PostgresVersion, postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { Workload } from "../harness/postgres/workload.ts";
import { Dice } from "../harness/random.ts";
import { runningService, serve } from "../harness/serve.ts";

export const description = "tables of a Postgres pipe equal their source after a random workload under random kills";

const seconds = numberOf("SECONDS", 90);
const seed = seedOf();
const ddl = process.env.DDL === "1";
const failover = process.env.FAILOVER === "1";
const version = Number(process.env.PG ?? 18) as PostgresVersion;

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds} PG=${version} DDL=${ddl ? 1 : 0} FAILOVER=${failover ? 1 : 0}`);
  const missing = postgresMissing(version);
  if (missing !== undefined) throw new Error(missing);
  await using pair = failover ? await FailoverPair.start(version, { slots: true, waits: true }) : undefined;
  await using server = failover ? undefined : await TestPostgres.start({ version });
  const source = (pair?.address ?? server) as TestPostgres;
  await using workload = new Workload(source, { seed, ddl, bigRows: 10_000 });
  await workload.create();
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: "error" } });
  const service = await runningService(served, { idleScaling: false });
  // Writers run while the tables are copied.
  workload.start();
  const settings = { snapshotNumRowsPerPartition: 1_000, pullBatchSize: 5_000, enableFailoverSlots: failover };
  const pipeId = await cdcPipe(served, service, source, workload.tables, { settings });
  const injector = new FaultInjector({ served, service, source, pair, pipeId, dice: new Dice(seed) });
  try {
    const deadline = Date.now() + seconds * 1000;
    while (Date.now() < deadline) {
      await delay(300 + injector.dice.below(2_500));
      await injector.inject();
    }
    await workload.stop();
    const followed = workload.tables.filter((table) => table !== "evolving");
    const compared = await injector.settle(followed, 120_000);
    const resyncs = ddl && (await injector.resyncIfAsked("evolving", 120_000)) ? 1 : 0;
    if (ddl) Object.assign(compared, await injector.settle(workload.tables, 60_000));
    for (const [table, { rows, checksum }] of Object.entries(compared))
      console.log(`${table}: ${rows} rows ${checksum}`);
    await assertAccounted(injector.served, service, pipeId, { refusedRows: 0 });
    const rows = Object.values(compared).reduce((sum, table) => sum + table.rows, 0);
    return { rows, transactions: workload.transactions, seed, resyncs, ...injector.done };
  } catch (error) {
    console.error(`SEED=${seed}; seen last: ${await injector.describe().catch(() => "no answer")}`);
    throw error;
  } finally {
    await injector.served[Symbol.asyncDispose]();
  }
}
