/** Charts end to end: the real program, its HTTP interface, a real engine. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let sourceId: string;

const t0 = Date.UTC(2024, 4, 1, 10);

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "1500" } });
  service = await runningService(served, { idleScaling: true, idleTimeoutMinutes: 5 });
  await query(
    service,
    "CREATE TABLE logs (Timestamp DateTime64(3, 'UTC'), Service String, n UInt64) ENGINE = MergeTree ORDER BY Timestamp",
  );
  await query(
    service,
    `INSERT INTO logs SELECT fromUnixTimestamp64Milli(${t0} + number * 1000), if(number % 3 = 0, 'web', 'api'), number FROM numbers(3600)`,
  );
});
afterAll(() => served[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  observabilityCall(served, method, path, body, headers);

const source = () => ({
  name: "logs",
  kind: "log",
  serviceId: service.id,
  from: { databaseName: "default", tableName: "logs" },
  timestampValueExpression: "Timestamp",
  implicitColumnExpression: "Service",
});
const chart = (extra: object = {}, item: object = {}) => ({
  startTime: t0,
  endTime: t0 + 3_600_000 - 1,
  granularity: "30m",
  ...extra,
  series: [{ sourceId, aggFn: "count", where: "", groupBy: [], ...item }],
});
const ask = (extra?: object, item?: object, headers?: Record<string, string>) =>
  call("POST", "/api/v2/charts/series", chart(extra, item), headers);

describe("sources", () => {
  test("are created, listed, read, replaced and deleted", async () => {
    const created = await call("POST", "/api/v2/sources", source());
    expect(created.status).toBe(200);
    sourceId = created.json.data.id;
    expect(created.json.data).toMatchObject({ ...source(), connection: service.id });
    expect((await call("GET", "/api/v2/sources")).json.data).toEqual([created.json.data]);
    const replaced = await call("PUT", `/api/v2/sources/${sourceId}`, { ...source(), name: "renamed" });
    expect(replaced.json.data.name).toBe("renamed");
    expect((await call("GET", `/api/v2/sources/${sourceId}`)).json.data).toEqual(replaced.json.data);
    const other = (await call("POST", "/api/v2/sources", { ...source(), serviceId: undefined, connection: service.id }))
      .json.data.id;
    expect((await call("DELETE", `/api/v2/sources/${other}`)).status).toBe(200);
    expect((await call("GET", `/api/v2/sources/${other}`)).status).toBe(404);
  });

  test("a source of an unknown service or without its table is refused with the path", async () => {
    const unknown = await call("POST", "/api/v2/sources", {
      ...source(),
      serviceId: "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11",
    });
    expect([unknown.status, unknown.json.issues[0].path]).toEqual([400, "serviceId"]);
    const bare = await call("POST", "/api/v2/sources", { ...source(), from: { databaseName: "default" } });
    expect([bare.status, bare.json.issues[0].path]).toEqual([400, "from.tableName"]);
  });
});

describe("charts", () => {
  test("the request and the answer of the contract", async () => {
    const { status, json, headers } = await ask();
    expect(status).toBe(200);
    expect(json).toEqual({
      data: [0, 1].map((i) => ({ ts_bucket: t0 + i * 1_800_000, group: [], "series_0.data": 1800 })),
    });
    expect(Number(headers.get("ratelimit-remaining"))).toBeGreaterThan(0);
  });

  test("callers of the HyperDX API read what they expect", async () => {
    // A preflight script: column mode, one day, reads .data[].series_0.
    const column = (await ask({ seriesReturnType: "column", granularity: "1d" }, { whereLanguage: "lucene" })).json
      .data;
    expect(column.map((row: { series_0: number }) => row.series_0)).toEqual([3600]);
    // A troubleshooter: SQL, one group that is an expression, reads group[0] and series_0.data.
    const grouped = (
      await ask({ granularity: "1h" }, { whereLanguage: "sql", where: "n >= 10", groupBy: ["upper(Service)"] })
    ).json.data;
    expect(
      grouped.map((row: { group: string[]; "series_0.data": number }) => [row.group[0], row["series_0.data"]]),
    ).toEqual([
      ["API", 2394],
      ["WEB", 1196],
    ]);
    // A plugin: ignores members it does not know, sends ones we do not.
    const unknown = await ask({ displayType: "line" }, { dataSource: "events", sortOrder: "desc" });
    expect(unknown.status).toBe(200);
    expect(JSON.parse(unknown.headers.get("x-chart-warnings") as string)).toHaveLength(3);
  });

  test("errors carry message, error and code, and the place", async () => {
    const filter = await ask({}, { where: "Service:web AND (nn:5" });
    expect(filter.status).toBe(400);
    expect(filter.json).toMatchObject({ code: "FILTER_INVALID", issues: [{ path: "series.0.where", position: 16 }] });
    expect(filter.json.message).toBe(filter.json.error);
    const column = await ask({}, { where: "Servce:web" });
    expect([column.status, column.json.code]).toEqual([400, "UNKNOWN_COLUMN"]);
    expect(column.json.message).toContain("did you mean Service?");
    const unknown = await ask({}, { sourceId: "64f000000000000000000000" });
    expect([unknown.status, unknown.json.message]).toEqual([404, "Source not found for series 0"]);
    expect(unknown.json.issues).toEqual([{ path: "series.0.sourceId", message: expect.stringContaining("the id") }]);
    for (const bad of [
      { series: [] },
      { startTime: "x" },
      { endTime: 1_700_000_000 },
      { granularity: "1s" },
      { seriesReturnType: "ratio" },
      { timezone: "Mars/X" },
      { startTime: 0, granularity: "30s" },
    ]) {
      const answer = await call("POST", "/api/v2/charts/series", { ...chart(), ...bad });
      expect([answer.status, answer.json.code], JSON.stringify(bad)).toEqual([400, "BAD_REQUEST"]);
    }
    expect((await call("POST", "/api/v2/charts/series", chart(), { Authorization: "Bearer wrong" })).status).toBe(401);
  });

  test("other formats and entity tags", async () => {
    const csv = await ask({}, { groupBy: ["Service"] }, { Accept: "text/csv" });
    expect(csv.headers.get("content-type")).toContain("text/csv");
    expect(csv.text.split("\r\n")[0]).toBe("ts_bucket,Service,series_0.data");
    const lines = await ask({}, {}, { Accept: "application/x-ndjson" });
    expect(lines.text.trim().split("\n")).toHaveLength(2);
    const first = await ask({ granularity: "15m" });
    const etag = first.headers.get("etag") as string;
    const again = await ask({ granularity: "15m" }, {}, { "If-None-Match": etag });
    expect([again.status, again.text]).toEqual([304, ""]);
    await query(service, `INSERT INTO logs VALUES (fromUnixTimestamp64Milli(${t0}), 'late', 1)`);
    const changed = await ask({ granularity: "15m" }, {}, { "If-None-Match": etag });
    expect([changed.status, changed.json.data[0]["series_0.data"]]).toEqual([
      200,
      first.json.data[0]["series_0.data"] + 1,
    ]);
  });

  test("a misspelt member is refused with the one that was meant", async () => {
    const { status, json } = await ask({}, { groupby: ["Service"] });
    expect([status, json.issues]).toEqual([
      400,
      [{ path: "series.0.groupby", message: "is not a known member; did you mean groupBy?" }],
    ]);
  });

  test("our own endpoint says what is known of the answer, the contract's body stays as it is", async () => {
    const body = {
      ...chart({ granularity: "none" }, { groupBy: ["Service"], where: "web or api" }),
      orderBy: "series_0",
    };
    const { status, json } = await call("POST", "/api/v2/charts/query", body);
    expect([status, json.data]).toEqual([200, []]);
    expect(json.meta).toMatchObject({
      bucketMs: 3_600_000,
      cache: "miss",
      warnings: [expect.stringContaining("write OR")],
    });
    const number = await call("POST", "/api/v2/charts/query", chart({ granularity: "none" }));
    expect(number.json.data).toEqual([{ ts_bucket: t0, group: [], "series_0.data": 3601 }]);
    expect(number.json.meta).toMatchObject({
      firstBucketPartial: false,
      lastBucketPartial: false,
      rowsRead: expect.any(Number),
    });
    expect(Object.keys((await ask()).json)).toEqual(["data"]);
    expect((await ask({ granularity: "none" })).status).toBe(400);
  });

  test("long answers are compressed for those who ask, under a tag of their own", async () => {
    const long = () => chart({ granularity: "30s" }, { groupBy: ["n"] });
    const plain = await call("POST", "/api/v2/charts/series", long(), { "Accept-Encoding": "identity" });
    const gzip = await call("POST", "/api/v2/charts/series", long(), { "Accept-Encoding": "gzip" });
    expect([plain.headers.get("content-encoding"), gzip.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    expect(gzip.json).toEqual(plain.json);
    const tag = gzip.headers.get("etag") as string;
    expect(tag).not.toBe(plain.headers.get("etag"));
    const again = await call("POST", "/api/v2/charts/series", long(), {
      "Accept-Encoding": "gzip",
      "If-None-Match": tag,
    });
    expect(again.status).toBe(304);
    const short = await call("POST", "/api/v2/charts/series", chart(), { "Accept-Encoding": "gzip" });
    expect(short.headers.get("content-encoding")).toBeNull();
    const csv = await call("POST", "/api/v2/charts/series", long(), { "Accept-Encoding": "gzip", Accept: "text/csv" });
    expect(csv.text.trim().split("\r\n")).toHaveLength(plain.json.data.length + 1);
  });

  test("an idle service is woken by a chart; a stopped one is 503", async () => {
    const state = async () => (await served.api.getService({ params: service.params })).state;
    await until("the service is idle", async () => (await state()) === "idle");
    expect((await ask()).status).toBe(200);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("the service is stopped", async () => (await state()) === "stopped");
    const answer = await ask();
    expect([answer.status, answer.json.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
