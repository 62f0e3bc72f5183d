/** What Millrace asks of an external server, on the oldest one that it accepts. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import { externalServiceOn, pipeRights } from "../../../harness/clickhouse/external-service.ts";
import { launchOldest, oldestServerMissing, oldestVersion } from "../../../harness/clickhouse/oldest-server.ts";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, type Served, serve } from "../../../harness/serve.ts";

const missing = oldestServerMissing();
const withoutPostgres = missing ?? postgresMissing(18);
/** With the rights of docs/external.md, and no others. */
const user = {
  name: "pipes",
  password: "secret-of-pipes",
  grants: pipeRights,
};
let peers: AsyncDisposableStack;
let served: Served;
let service: BenchService;

beforeAll(async () => {
  if (missing !== undefined) return;
  peers = new AsyncDisposableStack();
  const server = peers.use(await TestServer.start({ users: [serverUser, user], launch: launchOldest }));
  served = peers.use(await serve());
  service = await externalServiceOn(served, server, "app", user);
});
afterAll(async () => {
  await peers?.disposeAsync();
});

test.skipIf(missing !== undefined)(
  `is the oldest that is accepted${missing === undefined ? "" : ` (${missing})`}`,
  async () => {
    expect(await query(service, "SELECT version()")).toMatch(new RegExp(`^${oldestVersion}\\.`));
  },
);

test.skipIf(missing !== undefined)("loads one object, and a folder of objects", async () => {
  await using store = await startFauxqs();
  for (let at = 0; at < 30; at += 1) await store.put(`in/${at + 10}.json`, rows(at * 10, at * 10 + 10));
  for (const [pattern, table, count] of [
    ["in/10.json", "one", "10"],
    ["in/*.json", "folder", "300"],
  ] as const) {
    const id = await createPipe(served, service, pipeBody(store, pattern, table));
    await untilState(served, service, id, "Completed");
    expect(await query(service, `SELECT count(), uniqExact(id) FROM ${table}`)).toBe(`${count}\t${count}`);
    expect(await query(service, `SELECT count() FROM ${table}_pipes_error`)).toBe("0");
  }
});

const ofPostgres = `keeps values that Postgres does not send${withoutPostgres === undefined ? "" : ` (${withoutPostgres})`}`;
test.skipIf(withoutPostgres !== undefined)(ofPostgres, async () => {
  await using source = await TestPostgres.start();
  await source.sql(`CREATE TABLE papers (id int PRIMARY KEY, title text, body text);
    ALTER TABLE papers ALTER body SET STORAGE EXTERNAL;
    INSERT INTO papers SELECT i, 'first', repeat('body ' || i || ' ', 1000) FROM generate_series(1, 200) i`);
  await cdcPipe(served, service, source, ["papers"]);
  const columns = { source: "id::text, title, md5(body)", destination: "toString(id), title, lower(hex(MD5(body)))" };
  await untilEqual(source, service, "papers", columns);
  await source.sql("UPDATE papers SET title = 'second' WHERE id <= 150; DELETE FROM papers WHERE id <= 10");
  await untilEqual(source, service, "papers", columns);
});

test.skipIf(missing !== undefined)("answers a series and a search", async () => {
  const t0 = Date.UTC(2024, 4, 1, 10);
  await query(service, "CREATE TABLE logs (ts DateTime64(3, 'UTC'), s String) ENGINE = MergeTree ORDER BY ts");
  const time = `fromUnixTimestamp64Milli(${t0} + number * 1000)`;
  await query(service, `INSERT INTO logs SELECT ${time}, toString(number % 2) FROM numbers(60)`);
  const call = async (path: string, body: object) => {
    const { status, text, json } = await observabilityCall(served, "POST", path, body);
    expect(status, text).toBe(200);
    return json;
  };
  const from = { databaseName: "app", tableName: "logs" };
  const source = { name: "logs", kind: "log", serviceId: service.id, from, timestampValueExpression: "ts" };
  const sourceId = (await call("/api/v2/sources", source)).data.id;
  const range = { startTime: t0, endTime: t0 + 59_999 };
  const series = [{ sourceId, aggFn: "count", where: "", groupBy: [] }];
  const { data } = await call("/api/v2/charts/series", { ...range, series, granularity: "1h" });
  expect(data).toMatchObject([{ "series_0.data": 60 }]);
  const found = await call("/api/v2/search", { ...range, sourceId, where: "s:1", limit: 5 });
  expect(JSON.stringify(found)).toContain('"1"');
});
