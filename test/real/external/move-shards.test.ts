/**
 * A service with a pipe under load moves to a cluster of two shards, one of which is killed meanwhile. The tests'
 * servers have no ON CLUSTER: their owner has made the tables, and the statements of a move go through the parser only.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { serverUser, type TestServer } from "../../../harness/clickhouse/server.ts";
import { startShards } from "../../../harness/clickhouse/shards.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows } from "../../../harness/pipes.ts";
import {
  type BenchService,
  query,
  runningService,
  type Served,
  serve,
  until,
  untilText,
} from "../../../harness/serve.ts";
import { identifier, literal } from "../../../src/clickhouse/sql.ts";
import type { TableForm } from "../../../src/clickhouse/table-form.ts";
import { distributedStatement } from "../../../src/services/moves/shards.ts";
import { tableStatements } from "../../../src/services/moves/statements.ts";

const byOwner: TableForm = { kind: "plain", cluster: "duo", isReplicated: false, shards: 2 };

let peers: AsyncDisposableStack;
let shards: TestServer[];
let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  peers = new AsyncDisposableStack();
  shards = await startShards("duo", 2);
  for (const shard of shards) peers.use(shard);
  served = peers.use(await serve());
  store = peers.use(await startFauxqs());
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await peers?.disposeAsync();
});

const first = () => shards[0] as TestServer;
const second = () => shards[1] as TestServer;
const connection = () => {
  const { name: username, password } = serverUser;
  return { urls: [first().url], username, password, cluster: "duo" };
};
const look = (sql: string) => query(service, sql).catch((error: Error) => error.message);
const move = async () => await served.api.getServiceMove({ params: service.params });

/** Both tables of these tables of the service, on every shard; the others get no key. */
async function makeTables(keyOf: (name: string) => string | undefined): Promise<void> {
  const list =
    "SELECT name, create_table_query FROM system.tables WHERE database = 'default' AND engine LIKE '%MergeTree'";
  for (const line of (await query(service, `${list} FORMAT TSVRaw`)).split("\n")) {
    const [name = "", statement = ""] = line.split("\t");
    const key = keyOf(name);
    if (key === undefined) continue;
    const definition = { database: "default", name, statement };
    const { create, ttl } = tableStatements(definition, byOwner, `${name}_local`);
    for (const { client } of shards) {
      await client.command(create);
      if (ttl !== undefined) await client.command(`ALTER TABLE ${identifier(`${name}_local`)} MODIFY TTL ${ttl}`);
      await client.command(distributedStatement(definition, byOwner, key));
    }
  }
}

test("what shards cannot have is named, and a table of the server with an unsuitable key", async () => {
  await query(
    service,
    "CREATE TABLE versions (id UInt64, v UInt64) ENGINE = ReplacingMergeTree(v) PARTITION BY id % 3 ORDER BY id",
  );
  await query(service, "INSERT INTO versions SELECT number % 500, number FROM numbers(1000)");
  await query(service, "INSERT INTO versions SELECT number % 700, 10000 + number FROM numbers(700)");
  await query(service, "CREATE TABLE largest (id UInt64) ENGINE = MergeTree ORDER BY id");
  await query(service, "CREATE MATERIALIZED VIEW growing TO largest AS SELECT id FROM versions");
  await makeTables((name) => (name === "versions" ? "cityHash64(id, v)" : undefined));
  await first().client.command("CREATE TABLE largest_local (id UInt64) ENGINE = MergeTree ORDER BY id");
  const plan = await served.api.planServiceMove({ params: service.params, body: { connection: connection() } });
  expect(plan.leftBehind).toMatchObject([{ object: "default.growing", message: expect.stringContaining("shard") }]);
  expect(plan.problems).toMatchObject([
    { object: "default.largest", message: "the server has a table largest_local; drop or rename it there" },
    { object: "default.versions", message: expect.stringContaining("contains v, which is not in the sorting key") },
  ]);
  await query(service, "DROP TABLE growing");
  await query(service, "DROP TABLE largest");
  for (const { client } of shards) {
    for (const table of ["versions", "versions_local", "largest_local"]) {
      await client.command(`DROP TABLE IF EXISTS ${table} SYNC`);
    }
  }
});

test("every row is on one shard once, before and after, and the pipe continues", async () => {
  await query(
    service,
    "CREATE TABLE objects (id UInt64, name String) ENGINE = MergeTree PARTITION BY id % 5 ORDER BY id",
  );
  const size = 5_000;
  const put = (file: number) =>
    store.put(`in/${String(file).padStart(2, "0")}.json`, rows(file * size, (file + 1) * size));
  for (let file = 0; file < 8; file += 1) await put(file);
  const pipe = pipeBody(store, "in/*.json", "objects", {
    destination: { managedTable: false, tableDefinition: undefined },
    source: { isContinuous: true },
    body: { settings: { object_storage_polling_interval_ms: 300, object_storage_max_file_count: 1 } },
  });
  await createPipe(served, service, pipe);
  await until("rows arrive", async () => Number(await look("SELECT count() FROM objects")) >= 3 * size);
  await makeTables((name) => (name.endsWith("_error") ? "0" : "cityHash64(id)"));
  await served.api.moveService({ params: service.params, body: { connection: connection() } });
  await until(
    "rows are on the second shard",
    async () => (await second().client.text("SELECT count() FROM objects_local")) !== "0\n",
  );
  await second().kill();
  await second().restart();
  let last = "";
  await until("the move is completed", async () => {
    const now = await move();
    last = JSON.stringify(now);
    return now.status === "completed";
  }).catch((error: Error) => {
    throw new Error(`${error.message}; last seen: ${last}`);
  });
  for (let file = 8; file < 10; file += 1) await put(file);
  const total = 10 * size;
  const exact = `${total}\t${total}\t${(total * (total - 1)) / 2}`;
  await untilText("every row is there", exact, () => look("SELECT count(), uniqExact(id), sum(id) FROM objects"));
  for (const { client } of shards) {
    expect(Number(await client.text("SELECT count() FROM objects_local"))).toBeGreaterThan(total / 4);
  }
  expect(await look("SELECT count(), sum(v) FROM versions FINAL")).toBe("700\t7244650");
  // No key is on both shards: what FINAL combines is together.
  const apart = "SELECT count() FROM (SELECT id FROM versions GROUP BY id HAVING uniqExact(_shard_num) > 1)";
  await untilText("no key is on both shards", "0", () => look(apart));
});

test("the statements of a move to a cluster are read by the engine's parser", async () => {
  const form: TableForm = { kind: "cluster", cluster: "duo", isReplicated: true, shards: 2 };
  const statement =
    "CREATE TABLE default.t (`id` UInt64, `x` String MATERIALIZED toString(id)) ENGINE = ReplacingMergeTree(id) PARTITION BY id % 3 ORDER BY id TTL toDateTime(id) + toIntervalDay(1) SETTINGS index_granularity = 8192 COMMENT 'it''s'";
  const table = { database: "default", name: "t", statement };
  const statements = [
    tableStatements(table, form, "t_local").create,
    distributedStatement(table, form, "cityHash64(id)"),
  ];
  for (const sql of statements) {
    const read = await first().client.text(`SELECT formatQuerySingleLine(${literal(sql)})`);
    expect(read).toContain("ON CLUSTER duo");
  }
});
