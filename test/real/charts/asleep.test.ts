/** An open dashboard and a service that falls asleep: the real program, its HTTP interface, a real engine. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ObservabilityReply, observabilityCall } from "../../../harness/charts/observability.ts";
import {
  type BenchService,
  letSleep,
  query,
  runningService,
  type Served,
  serve,
  until,
} from "../../../harness/serve.ts";

const t0 = Date.UTC(2024, 4, 1, 10);
let served: Served;
let service: BenchService;
let sourceId: string;

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "600" } });
  service = await runningService(served, { idleScaling: false });
  await query(service, "CREATE TABLE logs (ts DateTime64(3, 'UTC'), s String, m Map(String, String)) ORDER BY ts");
  await query(service, "CREATE TABLE others (at DateTime, n UInt64) ORDER BY at");
  await query(
    service,
    `INSERT INTO logs SELECT fromUnixTimestamp64Milli(${t0} + number * 1000), 'x', map('k', 'v') FROM numbers(60)`,
  );
  const from = { databaseName: "default", tableName: "logs" };
  const body = { name: "logs", kind: "log", serviceId: service.id, from, timestampValueExpression: "ts" };
  sourceId = (await call("POST", "/api/v2/sources", body)).json.data.id;
});
afterAll(() => served[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  observabilityCall(served, method, path, body, headers);

const range = { startTime: t0, endTime: t0 + 59_999 };
const series = () => [{ sourceId, aggFn: "count", where: "", groupBy: [] }];

/** Every read that a dashboard is made of, by name. */
const panels = {
  series: (wake: string, headers?: Record<string, string>) =>
    call("POST", "/api/v2/charts/series", { ...range, series: series(), wake }, headers),
  query: (wake: string) =>
    call("POST", "/api/v2/charts/query", { ...range, series: series(), granularity: "none", wake }),
  search: (wake: string) => call("POST", "/api/v2/search", { ...range, sourceId, limit: 5, wake }),
  fields: (wake: string) => call("GET", `/api/v2/sources/${sourceId}/fields?wake=${wake}`),
  values: (wake: string) => call("GET", `/api/v2/sources/${sourceId}/fieldValues?field=m.k&wake=${wake}`),
  suggestions: (wake: string) => call("GET", `/api/v2/sourceSuggestions?serviceId=${service.id}&wake=${wake}`),
};
const stateOf = async () => (await served.api.getService({ params: service.params })).state;

test("a dashboard that is open lets the service fall asleep, and says from when its data is", async () => {
  const live: Record<string, ObservabilityReply> = {};
  let asked = 0;
  let lastLive = 0;
  await until("the service is idle while it is asked all the time", async () => {
    const begin = Date.now();
    for (const [name, ask] of Object.entries(panels)) {
      const answer = await ask("never");
      expect(answer.status, name).toBe(200);
      asked += 1;
      if (answer.headers.get("x-chart-cache") === "stale") continue;
      live[name] = answer;
      lastLive = begin;
    }
    if (asked === Object.keys(panels).length) await letSleep(served, service);
    return (await stateOf()) === "idle";
  });
  expect(asked).toBeGreaterThan(Object.keys(panels).length);
  expect(Object.keys(live)).toEqual(Object.keys(panels));
  for (const [name, ask] of Object.entries(panels)) {
    const answer = await ask("never");
    const before = live[name] as ObservabilityReply;
    expect([answer.status, answer.headers.get("x-chart-cache")], name).toEqual([200, "stale"]);
    expect(answer.json.data, name).toEqual(before.json.data);
    const asOf = answer.headers.get("x-data-as-of") as string;
    expect(asOf, name).toBe(before.headers.get("x-data-as-of"));
    expect(Date.parse(asOf), name).toBeGreaterThan(lastLive - 10_000);
    if (name === "series") expect(answer.json).toEqual(before.json);
    else expect(answer.json.meta, name).toMatchObject({ cache: "stale", asOf });
  }
  const tag = live.series?.headers.get("etag") as string;
  expect((await panels.series("never", { "If-None-Match": tag })).status).toBe(304);
  expect(await stateOf()).toBe("idle");
});

test("what was never asked before is 409, and the service stays asleep", async () => {
  const answers = [
    await call("POST", "/api/v2/charts/series", { ...range, endTime: t0 + 1, series: series(), wake: "never" }),
    await call("POST", "/api/v2/search", { ...range, sourceId, limit: 6, wake: "never" }),
    await call("GET", `/api/v2/sources/${sourceId}/fieldValues?field=s&wake=never`),
  ];
  for (const { status, json } of answers) expect([status, json.code]).toEqual([409, "SERVICE_ASLEEP"]);
  expect(await stateOf()).toBe("idle");
});

test("a read that may wake does, and tells rows that nobody had seen", async () => {
  const before = await panels.query("never");
  await query(service, `INSERT INTO logs SELECT fromUnixTimestamp64Milli(${t0}), 'y', map() FROM numbers(5)`);
  const after = await panels.query("never");
  expect([before.json.data[0]["series_0.data"], after.json.data[0]["series_0.data"]]).toEqual([60, 65]);
  expect(after.json.meta).toMatchObject({ cache: "miss" });
  expect((await panels.search("auto")).json.meta.cache).toBe("miss");
});

test("suggestions are bodies of sources, without the tables that have one", async () => {
  const from = { databaseName: "default", tableName: "others" };
  const wanted = { name: "others", kind: "table", serviceId: service.id, from, timestampValueExpression: "at" };
  const { json } = await panels.suggestions("auto");
  expect(json.data).toEqual([wanted]);
  expect((await call("POST", "/api/v2/sources", json.data[0])).status).toBe(200);
  expect((await panels.suggestions("auto")).json.data).toEqual([]);
  const unknown = await call("GET", "/api/v2/sourceSuggestions?serviceId=5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11");
  expect(unknown.status).toBe(404);
});
