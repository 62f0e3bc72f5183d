/** Tables of a service through the management API: from the running engine, and as kept while it sleeps. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type BenchService,
  letSleep,
  query,
  runningService,
  type Served,
  serve,
  until,
} from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
const columns = { columns: "true" } as const;

beforeAll(async () => {
  // Five minutes of idleness are one second.
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "200" } });
  const memory = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 };
  service = await runningService(served, { idleScaling: false, ...memory });
  await query(service, "CREATE DATABASE `o'd d`");
  await query(
    service,
    `CREATE TABLE events (time DateTime COMMENT 'when', user LowCardinality(String), n UInt64 DEFAULT 7 CODEC(ZSTD(1)))
     ENGINE = MergeTree PARTITION BY toYYYYMM(time) ORDER BY (user, time) PRIMARY KEY user SETTINGS min_bytes_for_wide_part = 0 COMMENT 'all of them'`,
  );
  await query(service, "INSERT INTO events (time, user) SELECT now(), toString(number) FROM numbers(1000)");
  await query(service, "CREATE VIEW `o'd d`.`a/b?` AS SELECT * FROM events");
  await query(
    service,
    "CREATE TABLE outside (a Int32) ENGINE = S3('https://bucket.s3.amazonaws.com/x.csv', 'AKIAX', 'SECRETKEY', 'CSV')",
  );
});
afterAll(() => served[Symbol.asyncDispose]());

const state = async () => (await served.api.getService({ params: service.params })).state;
const list = () => served.api.listTables({ params: service.params, query: columns });
const get = (database: string, table: string) =>
  served.api.getTable({ params: { ...service.params, database, table } });

test("a running service: what is there now", async () => {
  const { live, asOf, databases, tables, truncated } = await list();
  expect({ live, truncated }).toEqual({ live: true, truncated: false });
  expect(Date.now() - Date.parse(asOf as string)).toBeLessThan(60_000);
  expect(databases.map(({ name }) => name)).toEqual(["default", "o'd d"]);
  expect(tables.map(({ database, name }) => [database, name])).toEqual([
    ["default", "events"],
    ["default", "outside"],
    ["o'd d", "a/b?"],
  ]);
  expect(tables[0]).toMatchObject({
    engine: "MergeTree",
    comment: "all of them",
    rows: 1000,
    bytes: expect.any(Number),
  });
  expect(tables[0]?.columns).toEqual([
    { name: "time", type: "DateTime" },
    { name: "user", type: "LowCardinality(String)" },
    { name: "n", type: "UInt64" },
  ]);
  const plain = await served.api.listTables({ params: service.params });
  expect(plain.tables[0]).not.toHaveProperty("columns");
});

test("a table: columns, keys, size, definition without secrets", async () => {
  const table = await get("default", "events");
  expect(table).toMatchObject({
    live: true,
    rows: 1000,
    parts: 1,
    partitionKey: "toYYYYMM(time)",
    sortingKey: "user, time",
    primaryKey: "user",
    createStatement: expect.stringContaining("CREATE TABLE default.events"),
  });
  expect(table.columns[0]).toMatchObject({ name: "time", comment: "when", inPrimaryKey: false, inPartitionKey: true });
  expect(table.columns[1]).toMatchObject({ inPrimaryKey: true, inSortingKey: true });
  expect(table.columns[2]).toMatchObject({ defaultKind: "DEFAULT", defaultExpression: "7", codec: "CODEC(ZSTD(1))" });
  expect(table.columns[0]?.uncompressedBytes).toBeGreaterThan(0);
  const { createStatement } = await get("default", "outside");
  expect(createStatement).toContain("[HIDDEN]");
  expect(createStatement).not.toContain("SECRETKEY");
  expect((await get("o'd d", "a/b?")).engine).toBe("View");
  expect((await get("system", "one")).engine).toBe("SystemOne");
  await expect(get("default", "none")).rejects.toMatchObject({ status: 404 });
});

test("completions of the engine", async () => {
  const known = await served.api.getCompletions({ params: service.params });
  expect(known.version).toBe(await query(service, "SELECT version()"));
  expect(known.keywords).toContain("SELECT");
  expect(known.functions).toContainEqual(
    expect.objectContaining({ name: "sum", aggregate: true, syntax: "sum(num)", description: expect.any(String) }),
  );
  expect(known.formats).toContainEqual({ name: "CSV", input: true, output: true });
  expect(known.settings).toContainEqual(expect.objectContaining({ name: "max_threads" }));
  expect(known.dataTypes).toContain("LowCardinality");
});

test("asking does not keep it awake; asleep it shows what was there and stays asleep", async () => {
  await query(service, "CREATE TABLE last (a Int32) ENGINE = Memory");
  await letSleep(served, service);
  await until("it sleeps in spite of the questions", async () => {
    await list();
    return (await state()) === "idle";
  });
  const { live, asOf, tables } = await list();
  expect(live).toBe(false);
  expect(Date.now() - Date.parse(asOf as string)).toBeLessThan(60_000);
  expect(tables.map(({ name }) => name)).toEqual(["events", "last", "outside", "a/b?"]);
  expect(tables[0]?.columns).toHaveLength(3);
  const table = await get("default", "events");
  expect(table).toMatchObject({ live: false, rows: 1000, sortingKey: "user, time" });
  expect(table.columns).toHaveLength(3);
  expect((await served.api.getCompletions({ params: service.params })).keywords).toContain("SELECT");
  await expect(get("default", "none")).rejects.toMatchObject({ status: 404 });
  expect(await state()).toBe("idle");
});

test("a new service without an engine: nothing is known, which is not an error", async () => {
  const { organizationId } = served.credentials;
  const { service: made } = await served.api.createService({ params: { organizationId }, body: { name: "new" } });
  const params = { organizationId, serviceId: made.id };
  await served.api.updateServiceState({ params, body: { command: "stop" } });
  await until("stopped", async () => (await served.api.getService({ params })).state === "stopped");
  const { live, tables } = await served.api.listTables({ params });
  expect([live, tables]).toEqual([false, []]);
});
