/**
 * A Postgres source of a pipe into a test cluster. Rows of `ledger` only come, so that a doubled one shows in its table
 * and behind its view; rows of `accounts` also change and go. The pipe's tables are on the first shard.
 */
import { setTimeout as delay } from "node:timers/promises";
import { identifier } from "../../src/clickhouse/sql.ts";
import { onCluster, windowSettings } from "../../src/clickhouse/table-form.ts";
import { createErrorTableSql } from "../../src/pipes/error-table.ts";
import type { PipeBody } from "../pipes.ts";
import { cdcBody, destinationSum, sourceSum } from "../postgres/pipes.ts";
import { TestPostgres } from "../postgres/postgres.ts";
import { until } from "../serve.ts";
import { clusterDatabase, clusterName, type TestCluster } from "./cluster.ts";
import { type ClusterTable, createView, form, restartLimitMs, restore } from "./cluster-faults.ts";

const ledger: ClusterTable = { name: "ledger", stored: "ledger" };
const accountColumns = "id, owner, balance";
/** Rows of each table before the pipe starts: its worker copies them in several batches. */
const firstRows = 20_000;
const roundRows = 2_000;

/** The source with its rows, and the table of the pipe that has a view. */
export async function startLedger(cluster: TestCluster): Promise<LedgerSource> {
  const server = await TestPostgres.start();
  try {
    await server.sql(`CREATE TABLE ledger (id bigint PRIMARY KEY, name text NOT NULL);
      CREATE TABLE accounts (id bigint PRIMARY KEY, owner text NOT NULL, balance bigint NOT NULL)`);
    const source = new LedgerSource(cluster, server);
    await source.insert(firstRows);
    const target = { kind: "table", database: clusterDatabase, table: ledger.name, columns: [] } as const;
    await cluster.onEach(
      `CREATE TABLE ${identifier(ledger.name)} (id Int64, name String, _version UInt128, _deleted UInt8)
       ENGINE = ReplicatedMergeTree ORDER BY id SETTINGS ${windowSettings(form).join(", ")}`,
    );
    await cluster.onEach(createErrorTableSql(target, form));
    await createView(cluster, ledger);
    return source;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

export class LedgerSource implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #server: TestPostgres;
  readonly table = ledger;
  /** Rows of the ledger. */
  rows = 0;

  constructor(cluster: TestCluster, server: TestPostgres) {
    this.#cluster = cluster;
    this.#server = server;
  }

  /** A pipe of both tables. */
  body(): PipeBody {
    const mappings = [
      { sourceSchemaName: "public", sourceTable: "ledger", targetTable: ledger.name, tableEngine: "MergeTree" },
      { sourceSchemaName: "public", sourceTable: "accounts", targetTable: "accounts" },
    ];
    const settings = { snapshotNumRowsPerPartition: 2_000, pullBatchSize: 2_000 };
    const body = cdcBody(this.#server, [], { mappings, settings });
    return { ...body, destination: { database: clusterDatabase } } as PipeBody;
  }

  /** One statement of the pipe on every server, in place of ON CLUSTER. A server that is down is waited for. */
  async define(sql: string): Promise<void> {
    const own = sql.replace(onCluster({ kind: "cluster", cluster: clusterName, isReplicated: true, shards: 2 }), "");
    for (const { name, server } of this.#cluster.replicas) {
      let refusal: unknown;
      const execute = async () =>
        await server.client.command(own, { database: clusterDatabase }).then(
          () => true,
          (error: unknown) => {
            refusal = error;
            return false;
          },
        );
      await until(`${name} has executed ${own}`, execute, 30_000).catch((cause: Error) => {
        throw new Error(`${cause.message}: ${refusal}`, { cause: refusal });
      });
    }
  }

  async insert(count: number): Promise<void> {
    const series = `generate_series(${this.rows}, ${this.rows + count - 1}) AS id`;
    await this.#server.sql(`INSERT INTO ledger SELECT id, 'name ' || id FROM ${series};
      INSERT INTO accounts SELECT id, 'owner ' || id, 0 FROM ${series}`);
    this.rows += count;
  }

  /** New rows in both tables, and changed and deleted accounts. */
  async change(next: () => number): Promise<void> {
    await this.insert(roundRows);
    const below = (limit: number) => Math.floor(next() * limit);
    await this.#server.sql(`UPDATE accounts SET balance = balance + 1 WHERE id % ${10 + below(40)} = ${below(10)}`);
    const from = below(this.rows);
    await this.#server.sql(`DELETE FROM accounts WHERE id BETWEEN ${from} AND ${from + below(500)};
      UPDATE accounts SET owner = 'owner ' || balance WHERE id % 100 = ${below(100)}`);
  }

  /** Waits until the readers' view of the accounts equals the source on both replicas; answers the checksum. */
  async untilEqual(describe: () => string): Promise<string> {
    const wanted = await sourceSum(this.#server, "accounts", accountColumns);
    const replicas = this.#cluster.replicas.filter(({ shard }) => shard === 1);
    let seen: string[] = [];
    const isEqual = async () => {
      await restore(this.#cluster);
      seen = await Promise.all(
        replicas.map(({ server }) => {
          const ask = async (sql: string) => (await server.client.text(sql, { database: clusterDatabase })).trimEnd();
          return destinationSum(ask, "accounts", accountColumns).catch(String);
        }),
      );
      if (seen.every((sum) => sum === wanted)) return true;
      await delay(500);
      return false;
    };
    await until("the accounts equal their source", isEqual, restartLimitMs).catch((error: Error) => {
      throw new Error(`${error.message}: source ${wanted}, replicas ${seen.join(" and ")}; ${describe()}`);
    });
    return wanted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
