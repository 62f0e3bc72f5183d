/** A service with pipes under load moves from its engine to a server: every row once, before, during and after. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
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

let peers: AsyncDisposableStack;
let server: TestServer;
let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  peers = new AsyncDisposableStack();
  server = peers.use(await TestServer.start());
  served = await serve();
  peers.defer(() => served[Symbol.asyncDispose]());
  store = peers.use(await startFauxqs());
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await peers?.disposeAsync();
});

const connection = () => ({ urls: [server.url], username: serverUser.name, password: serverUser.password });
const move = async () => await served.api.getServiceMove({ params: service.params });
const look = (sql: string) => query(service, sql).catch((error: Error) => error.message);
const there = async (sql: string) => {
  const answer = await fetch(`${server.url}/?query=${encodeURIComponent(sql)}`, {
    headers: { authorization: `Basic ${Buffer.from(`${serverUser.name}:${serverUser.password}`).toString("base64")}` },
  });
  return (await answer.text()).trim();
};

async function untilStatus(status: string): Promise<void> {
  let last = "";
  await until(`the move is ${status}`, async () => {
    const now = await move();
    last = JSON.stringify(now);
    return now.status === status;
  }).catch((error: Error) => {
    throw new Error(`${error.message}; last seen: ${last}`);
  });
}

test("what cannot be moved is named, and nothing begins", async () => {
  await query(service, "CREATE TABLE odd (id UInt64) ENGINE = Log");
  await query(service, "CREATE TABLE stray (id UInt64) ENGINE = MergeTree ORDER BY id");
  await there("CREATE TABLE stray (id UInt64) ENGINE = MergeTree ORDER BY id");
  const body = { connection: connection() };
  const plan = await served.api.planServiceMove({ params: service.params, body });
  expect(plan.leftBehind).toMatchObject([{ object: "default.odd", message: expect.stringContaining("Log") }]);
  await expect(served.api.moveService({ params: service.params, body })).rejects.toMatchObject({
    issues: [{ path: "default.odd" }],
  });
  await expect(move()).rejects.toMatchObject({ code: "NOT_FOUND" });
  await query(service, "DROP TABLE odd");
});

test("a move takes tables, views and pipes along, and every row is there once", async () => {
  await query(service, "CREATE TABLE copy (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
  await query(
    service,
    `CREATE TABLE versions (id UInt64, v UInt64, extra String MATERIALIZED concat('x', toString(id)))
     ENGINE = ReplacingMergeTree(v) PARTITION BY id % 3 ORDER BY id TTL toDateTime(v) + INTERVAL 90 YEAR COMMENT 'kept'`,
  );
  await query(service, "INSERT INTO versions SELECT number % 500, number FROM numbers(1000)");
  for (let file = 0; file < 4; file += 1) await store.put(`in/${file}.json`, rows(file * 1_000, (file + 1) * 1_000));
  const pipe = pipeBody(store, "in/*.json", "objects", {
    source: { isContinuous: true },
    body: { settings: { object_storage_polling_interval_ms: 300, object_storage_max_file_count: 1 } },
  });
  await createPipe(served, service, pipe);
  await until("the table exists", async () => Number(await look("SELECT count() FROM objects")) > 0);
  await query(service, "CREATE MATERIALIZED VIEW copying TO copy AS SELECT id, name FROM objects");
  await query(service, "CREATE VIEW newest AS SELECT max(id) AS id FROM objects");
  let sent = 4_000;
  let loading = true;
  const load = (async () => {
    for (let file = 4; loading; file += 1) {
      await store.put(`in/${file}.json`, rows(sent, sent + 1_000));
      sent += 1_000;
      await new Promise((done) => setTimeout(done, 300));
    }
  })();
  peers.defer(async () => {
    loading = false;
    await load;
  });
  await served.api.moveService({ params: service.params, body: { connection: connection() } });
  // The service may not be removed under the move.
  await expect(served.api.deleteService({ params: service.params })).rejects.toMatchObject({ code: "CONFLICT" });
  await untilStatus("completed");
  loading = false;
  await load;
  const total = (sent * (sent - 1)) / 2;
  const exact = `${sent}\t${sent}\t${total}`;
  await untilText("every row is there", exact, () => look("SELECT count(), uniqExact(id), sum(id) FROM objects"));
  expect(await there("SELECT count(), uniqExact(id), sum(id) FROM objects")).toBe(exact);
  expect(await there("SELECT count() = uniqExact(id) FROM copy")).toBe("1");
  expect(await there("SELECT id FROM newest")).toBe(String(sent - 1));
  expect(await there("SELECT count(), sum(v), max(extra) FROM versions FINAL")).toBe("500\t374750\tx99");
  expect(await there("SELECT create_table_query FROM system.tables WHERE name = 'versions'")).toMatch(/TTL .*kept/);

  const { oldServiceId } = await move();
  const old = await served.api.getService({ params: { ...service.params, serviceId: oldServiceId ?? "" } });
  expect(old).toMatchObject({ state: "stopped", runtime: "embedded", name: "test (before the move)" });
  expect(await served.api.getService({ params: service.params })).toMatchObject({ runtime: "external" });
  // The old side can be looked at, and is what it was.
  const params = { ...service.params, serviceId: old.id };
  await served.api.updateServiceState({ params, body: { command: "start" } });
  await until("the old side runs", async () => (await served.api.getService({ params })).state === "running");
  const endpoint = old.endpoints[0] as { host: string; port: number };
  const oldRows = Number(await query({ ...service, ...endpoint }, "SELECT count() FROM objects"));
  expect(oldRows).toBeGreaterThan(3_999);
  expect(oldRows % 1_000).toBe(0);
});

test("a move survives the death of everything, and a cancelled one leaves nothing behind", async () => {
  const other = await runningService(served, { name: "other", idleScaling: false });
  const params = other.params;
  const ask = (sql: string) => query(other, sql);
  await ask("CREATE TABLE numbers (n UInt64) ENGINE = MergeTree PARTITION BY n % 4 ORDER BY n");
  for (let part = 0; part < 5; part += 1) {
    await ask(`INSERT INTO numbers SELECT number + ${part * 100_000} FROM numbers(100000)`);
  }
  const exact = "500000\t500000\t124999750000";
  const sums = "SELECT count(), uniqExact(n), sum(n) FROM numbers";
  const body = { connection: connection() };
  const status = async () => (await served.api.getServiceMove({ params })).status;

  await served.api.moveService({ params, body });
  await served.api.cancelServiceMove({ params });
  await until("the move is cancelled", async () => (await status()) === "cancelled");
  expect(await there("SELECT count() FROM system.tables WHERE name = 'numbers' AND database = 'default'")).toBe("0");
  // Connections that are kept open end with the engine that they lead to, and a request may be on its way.
  await untilText("every row is there", exact, () => ask(sums).catch((error: Error) => error.message));

  await served.api.moveService({ params, body });
  await until("rows are copied", async () => {
    const { progress, status } = await served.api.getServiceMove({ params });
    return progress.copiedRows > 0 || status === "completed";
  });
  served = await served.restartAfterKill();
  await server.kill();
  await server.restart();
  await until("the last part begins", async () => (await status()) !== "copying");
  served = await served.restartAfterKill();
  await until("the move is completed", async () => (await status()) === "completed");
  await untilText("every row is there", exact, () => ask(sums).catch((error: Error) => error.message));
  expect(await there(sums)).toBe(exact);
  const services = await served.api.listServices({ params });
  const old = services.filter(({ name }) => name === "other (before the move)");
  expect(old).toMatchObject([{ state: "stopped", runtime: "embedded" }]);
});

test("a table that the server refused at first is made by a later attempt", async () => {
  const limits = ["<max_table_num_to_throw>1</max_table_num_to_throw>"];
  await using small = await TestServer.start({ configuration: limits });
  const third = await runningService(served, { name: "third", idleScaling: false });
  for (const name of ["a", "b", "c"]) {
    await query(third, `CREATE TABLE ${name} (n UInt64) ENGINE = MergeTree ORDER BY n`);
    await query(third, `INSERT INTO ${name} SELECT number FROM numbers(10)`);
  }
  const body = { connection: { ...connection(), urls: [small.url] } };
  await served.api.moveService({ params: third.params, body });
  const status = async () => await served.api.getServiceMove({ params: third.params });
  await until("the server refuses a table", async () => /TOO_MANY_TABLES/.test((await status()).message ?? ""));
  limits.length = 0;
  await small.restart();
  await until("the move is completed", async () => (await status()).status === "completed");
  for (const name of ["a", "b", "c"]) expect(await small.client.text(`SELECT sum(n) FROM ${name}`)).toBe("45\n");
});

test("a move to a server that is gone for good can be cancelled, and the service is free again", async () => {
  await using gone = await TestServer.start();
  const { params, ...fourth } = await runningService(served, { name: "fourth", idleScaling: false });
  await query(
    { params, ...fourth },
    "CREATE TABLE a (n UInt64) ENGINE = MergeTree ORDER BY n AS SELECT number FROM numbers(9)",
  );
  await served.api.moveService({ params, body: { connection: { ...connection(), urls: [gone.url] } } });
  await gone.kill();
  await served.api.cancelServiceMove({ params });
  await until(
    "the move is cancelled",
    async () => (await served.api.getServiceMove({ params })).status === "cancelled",
  );
  expect((await served.api.getServiceMove({ params })).message).toMatch(/^What the move has made on the server stays/);
  await untilText("every row is there", "9", () => query({ params, ...fourth }, "SELECT count() FROM a"));
  await query({ params, ...fourth }, "OPTIMIZE TABLE a FINAL");
  await served.api.updateServiceState({ params, body: { command: "stop" } });
  await until("it is stopped", async () => (await served.api.getService({ params })).state === "stopped");
  await served.api.deleteService({ params });
});
