/** Charts, search and fields of a table on an external server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { type BenchService, runningService, type Served, serve } from "../../../harness/serve.ts";

const t0 = Date.UTC(2024, 4, 1, 10);
const range = { startTime: t0, endTime: t0 + 59_999 };
let server: TestServer;
let served: Served;
let service: BenchService;
let sourceId: string;

beforeAll(async () => {
  [server, served] = await Promise.all([TestServer.start(), serve()]);
  await server.client.command("CREATE DATABASE app");
  await server.client.command("CREATE TABLE app.logs (ts DateTime64(3, 'UTC'), s String) ORDER BY ts");
  await server.client.command(
    `INSERT INTO app.logs SELECT fromUnixTimestamp64Milli(${t0} + number * 1000), toString(number % 2) FROM numbers(60)`,
  );
  const { name: username, password } = serverUser;
  service = await runningService(served, {
    runtime: "external",
    connection: { urls: [server.url], username, password },
  });
  const from = { databaseName: "app", tableName: "logs" };
  const body = { name: "logs", kind: "log", serviceId: service.id, from, timestampValueExpression: "ts" };
  sourceId = (await call("POST", "/api/v2/sources", body)).data.id;
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function call(method: string, path: string, body?: unknown) {
  const { status, text, json } = await observabilityCall(served, method, path, body);
  expect(status, text).toBe(200);
  return json;
}

test("a series, a search and the fields come from the server, also after its restart", async () => {
  const series = [{ sourceId, aggFn: "count", where: "", groupBy: ["s"] }];
  const sum = async () => {
    const { data } = await call("POST", "/api/v2/charts/series", { ...range, series, granularity: "1m" });
    return data.reduce((total: number, row: Record<string, unknown>) => total + Number(row["series_0.data"]), 0);
  };
  expect(await sum()).toBe(60);
  const found = await call("POST", "/api/v2/search", { ...range, sourceId, where: "s:1", limit: 5 });
  expect(JSON.stringify(found)).toContain('"1"');
  expect(JSON.stringify(await call("GET", `/api/v2/sources/${sourceId}/fields`))).toContain('"s"');
  await server.restart();
  expect(await sum()).toBe(60);
});
