/** What happens to a test cluster under pipes, and what has to be true afterwards. */
import { setTimeout as delay } from "node:timers/promises";
import { windowSettings } from "../../src/clickhouse/table-form.ts";
import { createErrorTableSql } from "../../src/pipes/error-table.ts";
import { managedTableStatements } from "../../src/pipes/managed-table.ts";
import { columns } from "../pipes.ts";
import { until } from "../serve.ts";
import { clusterDatabase, clusterName, lastWordsOf, type Replica, type TestCluster } from "./cluster.ts";
import type { PipeRun } from "./pipe-run.ts";

export type Faults = { replica: number; shard: number; keeper: number; worker: number };

export const restartLimitMs = 240_000;

/** A table that pipes write, and the one on each server that has its rows. */
export type ClusterTable = { readonly name: string; readonly stored: string };

/** How tables are defined on each server: without ON CLUSTER. */
export const form = { kind: "database", cluster: clusterName, isReplicated: true, shards: 2 } as const;

/** The statements of a pipe over both shards, on each server. */
export async function createTables(cluster: TestCluster, table: string): Promise<ClusterTable> {
  const target = { kind: "table", database: clusterDatabase, table, columns: [] } as const;
  const definition = { table, columns, tableDefinition: { sortingKey: ["id"] } };
  for (const sql of managedTableStatements(target, definition, form)) await cluster.onEach(sql);
  await cluster.onEach(createErrorTableSql(target, form));
  const made = { name: table, stored: `${table}_local` };
  await createView(cluster, made);
  return made;
}

/** A materialized view of a stored table, whose target remembers tokens. */
export async function createView(cluster: TestCluster, { name: table, stored }: ClusterTable): Promise<void> {
  const settings = windowSettings(form).join(", ");
  await cluster.onEach(
    `CREATE TABLE ${table}_sum (k UInt8, c UInt64, s UInt64) ENGINE = ReplicatedSummingMergeTree ORDER BY k SETTINGS ${settings}`,
  );
  await cluster.onEach(
    `CREATE MATERIALIZED VIEW ${table}_view TO ${table}_sum AS
     SELECT id % 7 AS k, count() AS c, sum(id) AS s FROM ${stored} GROUP BY k`,
  );
}

/** One fault, and its end. */
export async function injectFault(
  cluster: TestCluster,
  pipes: readonly PipeRun[],
  next: () => number,
  faults: Faults,
): Promise<void> {
  const dice = next();
  const pause = () => delay(200 + next() * 2_500);
  if (dice < 0.35) {
    const replica = cluster.replicas[Math.floor(next() * cluster.replicas.length)] as Replica;
    faults.replica += 1;
    await cluster.kill(replica);
    await pause();
    await cluster.restart(replica);
  } else if (dice < 0.55) {
    const shard = next() < 0.5 ? 1 : 2;
    const replicas = cluster.replicas.filter((replica) => replica.shard === shard);
    faults.shard += 1;
    await Promise.all(replicas.map((replica) => cluster.kill(replica)));
    await pause();
    await Promise.all(replicas.map((replica) => cluster.restart(replica)));
  } else if (dice < 0.75) {
    faults.keeper += 1;
    await cluster.keeper.kill();
    await pause();
    await cluster.keeper.start();
  } else {
    const pipe = pipes[Math.floor(next() * pipes.length)] as PipeRun;
    faults.worker += 1;
    await pipe.interrupt();
    pipe.start();
  }
}

/** Everything runs. A replica that ended by itself is started again: to a pipe it makes no difference who killed it. */
export async function restore(cluster: TestCluster): Promise<void> {
  for (const replica of cluster.replicas) {
    const { end } = replica.server;
    if (end !== undefined) console.log(`${replica.name} ended by itself: ${end}\n${lastWordsOf(replica)}`);
    if (end !== undefined || !replica.isUp) await cluster.restart(replica);
  }
}

/** Throws when rows are missing or doubled anywhere after the pipe has come to an end of its source. */
export async function settled(
  cluster: TestCluster,
  of: ClusterTable,
  expected: number,
  pipe: PipeRun,
  seed: number,
): Promise<void> {
  const { name: table } = of;
  let seen = "";
  // A replica that has just died does not answer; it is asked again.
  const reach = (what: string, isMet: (shares: Shares) => boolean, limitMs: number) => {
    const look = async () => {
      const shares = await sharesOf(cluster, of);
      seen = shares.text;
      return isMet(shares);
    };
    const attempt = () =>
      look().catch((error: Error) => {
        seen = error.message;
        return false;
      });
    return until(`${table} ${what}`, attempt, limitMs).catch((error: Error) => {
      const status = JSON.stringify(pipe.status);
      throw new Error(`${error.message}: ${seen}; expected ${expected}; ${status} SEED=${seed}`);
    });
  };
  // A replica that was dead fetches what it missed. Until then a query of the whole table may be answered without it.
  const everywhere = 2n * BigInt(expected);
  const isComplete = ({ rows }: Shares) => rows >= everywhere && pipe.openBatches === 0;
  await reach("is complete on every replica", isComplete, restartLimitMs);
  // Time for duplicates to arrive.
  await delay(1_500);
  const sum = (BigInt(expected) * BigInt(expected - 1)) / 2n;
  const wanted = [expected, expected, sum].join("\t");
  const found = await wholeTable(cluster, table);
  console.log(`${table}: ${found}; expected ${wanted}`);
  if (found !== wanted) {
    console.log(await repeatedRows(cluster, of));
    throw new Error(`${table}: ${found} instead of ${wanted}; ${seen}. SEED=${seed}`);
  }
  const isSame = ({ rows, isViewed }: Shares) => rows === everywhere && isViewed;
  await reach("is the same behind its view", isSame, restartLimitMs / 2);
}

/** Number, number of different ones and sum of the ids of a table, from the first replica. */
async function wholeTable(cluster: TestCluster, table: string): Promise<string> {
  const [{ server }] = cluster.replicas as [Replica];
  const sql = `SELECT count(), uniqExact(id), sum(id) FROM ${table}`;
  const answer = async () => {
    await restore(cluster);
    return await server.client.text(sql, { database: clusterDatabase }).catch(() => "");
  };
  return (await until(`${table} answers`, answer, restartLimitMs)).trim();
}

/** What all replicas have together, and whether each has the same behind its view. */
type Shares = { readonly rows: bigint; readonly isViewed: boolean; readonly text: string };

async function sharesOf(cluster: TestCluster, of: ClusterTable): Promise<Shares> {
  await restore(cluster);
  const shares = await Promise.all(cluster.replicas.map((replica) => shareOf(replica, of)));
  return {
    rows: shares.reduce((rows, { stored }) => rows + BigInt(stored.split("\t")[0] ?? 0), 0n),
    isViewed: shares.every(({ stored, viewed }) => stored === viewed),
    text: shares.map(({ stored, viewed }, at) => `${cluster.replicas[at]?.name} ${stored} view ${viewed}`).join("; "),
  };
}

/** Where rows are that exist twice: the parts that have them, and the statements that wrote these parts. */
async function repeatedRows(cluster: TestCluster, { name: table, stored }: ClusterTable): Promise<string> {
  const lines: string[] = [];
  for (const { name, server } of cluster.replicas) {
    const ask = (sql: string) => server.client.text(sql, { database: clusterDatabase }).catch(String);
    await ask("SYSTEM FLUSH LOGS");
    const twice = `SELECT id FROM ${stored} GROUP BY id HAVING count() > 1`;
    lines.push(`${name}:`);
    lines.push(
      await ask(`SELECT _part, count(), min(id), max(id) FROM ${stored} WHERE id IN (${twice}) GROUP BY _part`),
    );
    lines.push(
      await ask(`SELECT event_time_microseconds, event_type, part_name, rows, error, query_id, merged_from
        FROM system.part_log WHERE table = '${stored}' AND event_type NOT IN ('RemovePart')
          AND rows > 0 ORDER BY event_time_microseconds FORMAT TSV`),
    );
    lines.push(
      await ask(`SELECT event_time_microseconds, type, is_initial_query, initial_query_id, query_id,
          Settings['insert_deduplication_token'], written_rows, exception_code, left(exception, 200)
        FROM system.query_log WHERE query_kind = 'Insert' AND type <> 'QueryStart' AND has(tables, '${clusterDatabase}.${stored}')
           OR (query_kind = 'Insert' AND type <> 'QueryStart' AND query LIKE '%${table}%')
        ORDER BY event_time_microseconds FORMAT TSV`),
    );
  }
  return lines.join("\n");
}

/** Count and sum of the rows of a replica, and the same behind its view. */
async function shareOf(
  { server }: Replica,
  { name, stored }: ClusterTable,
): Promise<{ stored: string; viewed: string }> {
  const ask = async (sql: string) => (await server.client.text(sql, { database: clusterDatabase })).trim();
  return {
    stored: await ask(`SELECT count(), sum(id) FROM ${stored}`),
    viewed: await ask(`SELECT sum(c), sum(s) FROM ${name}_sum`),
  };
}
