/**
 * The walk-through of docs/external.md: an embedded service with a Kafka and a Postgres pipe under load moves to two
 * replicas, while the control plane is killed; then a replica is killed and comes back. No row is ever there twice, and
 * in the end both replicas equal the sources. `SECONDS` bounds the load before and after the move (default 20).
 */
import { setTimeout as delay } from "node:timers/promises";
import { numberOf } from "../harness/bounds.ts";
import { clusterMissing, type Replica, TestCluster } from "../harness/clickhouse/cluster.ts";
import { serverUser } from "../harness/clickhouse/server.ts";
import { kafkaMissing, startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../harness/kafka/pipes.ts";
import { requireTool } from "../harness/missing.ts";
import { createPipe } from "../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import type { TableForm } from "../src/clickhouse/table-form.ts";
import { objectStatement, tableStatements } from "../src/services/moves/statements.ts";

export const description = "a service with pipes under load moves to two replicas, and one of them is killed";

const seconds = numberOf("SECONDS", 20);
/** The replicas have no ON CLUSTER: the tables are made on each of them beforehand. */
const form: TableForm = { kind: "database", cluster: "quad", isReplicated: true, shards: 1 };
const columns = { source: "id, name", destination: "toString(id), name" };

export async function run(): Promise<Record<string, string | number>> {
  requireTool(clusterMissing());
  requireTool(kafkaMissing);
  requireTool(postgresMissing(18));
  await using cluster = await TestCluster.start();
  const replicas = cluster.replicas.slice(0, 2) as [Replica, Replica];
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await using postgres = await TestPostgres.start();
  let served = await serve({ env: { MILLRACE_LOG_LEVEL: "error" } });
  try {
    const service = await runningService(served, { idleScaling: false });
    await tool.topic("orders", 3);
    await postgres.sql("CREATE TABLE people (id bigint PRIMARY KEY, name text)");
    await postgres.sql("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(1, 20000) n");
    await createPipe(served, service, kafkaBody(kafka, "orders", "orders", {}));
    await cdcPipe(served, service, postgres, ["people"]);
    await using load = new Load(tool, postgres);
    await until("both pipes load", async () => load.sent > 0 && (await lookAt(service)) && (await hasPeople(service)));
    await delay(seconds * 500);
    await makeTables(service, replicas);
    const began = Date.now();
    const urls = replicas.map(({ server }) => server.url);
    const connection = { urls, username: serverUser.name, password: serverUser.password };
    await served.api.moveService({ params: service.params, body: { connection } });
    await until("rows are copied", async () => (await moveOf(served, service)).progress.copiedRows > 0);
    served = await served.restartAfterKill();
    let last = "";
    await until(
      "the move is completed",
      async () => {
        await lookAt(service);
        const now = await moveOf(served, service);
        last = JSON.stringify(now);
        return now.status === "completed";
      },
      240_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${last}`);
    });
    const movedAfterMs = Date.now() - began;
    await delay(seconds * 500);
    await cluster.kill(replicas[0]);
    await delay(seconds * 500);
    await load.stop();
    // What the dead replica had confirmed and the other one had not fetched is there again with it.
    await cluster.restart(replicas[0]);
    const wanted = exactOf(load.sent);
    await untilOrders(wanted, () => query(service, sums));
    await untilEqual(postgres, service, "people", columns, 240_000);
    for (const { name, server } of replicas) {
      await untilOrders(wanted, async () => (await server.client.text(sums)).trim());
      console.log(`${name}: orders ${wanted.replaceAll("\t", " ")}`);
    }
    return { rows: load.sent, changes: load.changes, movedAfterMs };
  } finally {
    await served[Symbol.asyncDispose]();
  }
}

const sums = "SELECT count(), uniqExact(id), sum(id) FROM orders";

function exactOf(count: number): string {
  return [count, count, (BigInt(count) * BigInt(count - 1)) / 2n].join("\t");
}

/** Throws when a row is there twice. False when nobody answers. */
async function lookAt(service: BenchService): Promise<boolean> {
  const found = await query(service, sums).catch(() => "");
  if (found === "") return false;
  const [rows = "0", distinct = "0"] = found.split("\t");
  if (rows !== distinct) throw new Error(`rows are there twice: ${found}`);
  return Number(rows) > 0;
}

async function hasPeople(service: BenchService): Promise<boolean> {
  return Number(await query(service, "SELECT count() FROM people_current").catch(() => "0")) > 0;
}

async function moveOf(served: Served, service: BenchService) {
  return await served.api.getServiceMove({ params: service.params });
}

async function untilOrders(wanted: string, look: () => Promise<string>): Promise<void> {
  let seen = "";
  await until(
    "orders are complete",
    async () => {
      seen = await look().catch(String);
      return seen === wanted;
    },
    240_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${seen} instead of ${wanted}`);
  });
}

async function makeTables(service: BenchService, replicas: readonly Replica[]): Promise<void> {
  const text = await query(
    service,
    `SELECT name, engine, create_table_query AS statement FROM system.tables WHERE database = 'default'
     ORDER BY engine = 'View' FORMAT JSONEachRow`,
  );
  for (const line of text.split("\n")) {
    const { name, engine, statement } = JSON.parse(line) as { name: string; engine: string; statement: string };
    const definition = { database: "default", name, statement };
    const sql = engine === "View" ? objectStatement(definition, form) : tableStatements(definition, form).create;
    for (const { server } of replicas) await server.client.command(sql);
  }
}

/** Messages and changes of rows, until it is stopped. */
class Load implements AsyncDisposable {
  sent = 0;
  changes = 0;
  #isRunning = true;
  readonly #done: Promise<void>;

  constructor(tool: KafkaTool, postgres: TestPostgres) {
    this.#done = this.#run(tool, postgres);
    this.#done.catch(() => {});
  }

  async #run(tool: KafkaTool, postgres: TestPostgres): Promise<void> {
    while (this.#isRunning) {
      await tool.send(orders("orders", this.sent, this.sent + 1_000, 3));
      this.sent += 1_000;
      this.changes += 1;
      await postgres.sql(
        `UPDATE people SET name = 'change ${this.changes} of ' || id WHERE id % 100 = ${this.changes % 100}`,
      );
      await postgres.sql(`DELETE FROM people WHERE id = ${this.changes}`);
      await delay(200);
    }
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isRunning = false;
    await this.#done.catch(() => {});
  }
}
