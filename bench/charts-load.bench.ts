/** Thirty-two concurrent dashboards through the real program, and the same load on HyperDX's planner in process. */
import { request } from "node:http";
import { runningService, serve } from "../harness/serve.ts";
import { seriesRequest } from "../src/api/charts.ts";
import { tableSchema } from "../src/charts/columns/schema.ts";
import { Buckets } from "../src/charts/plan/buckets.ts";
import { planEvents } from "../src/charts/plan/events.ts";
import { ClickHouseClient } from "../src/clickhouse/client.ts";
import { parseType } from "../src/clickhouse/types.ts";
import { type BenchResult, median, percentile, round } from "./bench.ts";
import { dayEndMs, dayStartMs, loadLogs } from "./chart-data.ts";
import { loadPeer, type Peer, quietly } from "./hyperdx-peer.ts";

export const description = "32 concurrent dashboards of 4 panels over HTTP; and the HTTP overhead of one light chart";

const rows = Number(process.env.MILLRACE_BENCH_ROWS ?? 200_000);
const dashboards = 32;
const secondsEach = Number(process.env.MILLRACE_BENCH_SECONDS ?? 10);

const panels = [
  ["SeverityText:error", "SeverityText:warn", 'ServiceName:"service-1"'],
  ["DurationMs:>1000", "StatusCode:>=500"],
  ["Body:timeout"],
  ["LogAttributes.region:region-3", 'SeverityText:"info"'],
];

/** A range that no other request has, so that no response comes from a cache. */
let asked = 0;
const nextRange = () => {
  asked += 1;
  return { startMs: dayStartMs + (asked % 3_600_000), endMs: dayEndMs - asked };
};

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const { host, port, password } = service;
  const client = new ClickHouseClient({ host, port, user: "default", password });
  await loadLogs(client, rows);
  const { observabilityBaseUrl, accessToken } = served.credentials;
  const post = poster(observabilityBaseUrl, accessToken);
  const source = await post("/api/v2/sources", {
    name: "logs",
    kind: "log",
    serviceId: service.id,
    from: { databaseName: "bench", tableName: "logs" },
    timestampValueExpression: "Timestamp",
    implicitColumnExpression: "Body",
  });
  const sourceId = (JSON.parse(source.text) as { data: { id: string } }).data.id;
  const overhead = await overheadOf(client, sourceId, post);
  const ours = await load(async (panel) => {
    const { startMs, endMs } = nextRange();
    const series = panel.map((where) => ({ sourceId, aggFn: "count", where, groupBy: [] }));
    const answer = await post("/api/v2/charts/series", {
      series,
      startTime: startMs,
      endTime: endMs,
      granularity: "30m",
    });
    return answer.status === 200;
  });
  const peer = await loadPeer(client, {
    database: "bench",
    table: "logs",
    timestamp: "Timestamp",
    body: "Body",
    sortingKey: "ServiceName, Timestamp",
  });
  const theirs = await quietly(() => load((panel) => peerPanel(peer, panel)));
  client.close();
  const line = (name: string, result: Load) => ({
    who: name,
    charts: result.times.length,
    "charts/s": round(result.times.length / result.seconds, 1),
    "p50 ms": round(median(result.times), 1),
    "p99 ms": round(percentile(result.times, 99), 1),
    errors: result.errors,
  });
  return {
    rows: [
      line("Millrace over HTTP", ours),
      line("peer's planner in process", theirs),
      { who: "HTTP overhead, p50 ms", ...overhead },
    ],
    summary: {
      ratio: round(median(theirs.times) / median(ours.times)),
      p50_ms: round(median(ours.times), 1),
      p99_ms: round(percentile(ours.times, 99), 1),
      errors: ours.errors,
      overhead_p50_ms: overhead.overhead,
    },
  };
}

type Load = { readonly times: number[]; readonly errors: number; readonly seconds: number };

async function load(chart: (panel: readonly string[]) => Promise<boolean>): Promise<Load> {
  const times: number[] = [];
  let errors = 0;
  const start = performance.now();
  const until = start + secondsEach * 1000;
  const dashboard = async () => {
    while (performance.now() < until) {
      await Promise.all(
        panels.map(async (panel) => {
          const began = performance.now();
          const ok = await chart(panel).catch(() => false);
          times.push(performance.now() - began);
          if (!ok) errors += 1;
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: dashboards }, dashboard));
  return { times, errors, seconds: (performance.now() - start) / 1000 };
}

async function peerPanel(peer: Peer, panel: readonly string[]): Promise<boolean> {
  const series = panel.map((where) => ({ aggFn: "count", where }));
  await peer.run({ ...nextRange(), granularity: "30 minute", series }, true);
  return true;
}

/** One light chart, one at a time: over HTTP, and its bare SQL on the engine's socket, alternating. */
async function overheadOf(client: ClickHouseClient, sourceId: string, post: ReturnType<typeof poster>) {
  const http: number[] = [];
  const bare: number[] = [];
  for (let i = 0; i < 220; i += 1) {
    const { startMs, endMs } = nextRange();
    const series = [{ sourceId, aggFn: "count" as const, where: "SeverityText:error", groupBy: [] }];
    const body = { series, startTime: startMs, endTime: endMs, granularity: "30m" as const };
    let began = performance.now();
    await post("/api/v2/charts/series", body);
    if (i >= 20) http.push(performance.now() - began);
    const plan = await bareQuery(seriesRequest.parse(body));
    began = performance.now();
    await client.text(plan.sql, { params: plan.params });
    if (i >= 20) bare.push(performance.now() - began);
  }
  return { http: round(median(http)), bare: round(median(bare)), overhead: round(median(http) - median(bare)) };
}

async function bareQuery(body: ReturnType<typeof seriesRequest.parse>) {
  const range = { startMs: body.startTime, endMs: body.endTime };
  const schema = tableSchema("bench", "logs", [
    { name: "Timestamp", type: "DateTime64(9)" },
    { name: "SeverityText", type: "LowCardinality(String)" },
  ]);
  const stamp = "2024-01-01T00:00:00.000Z";
  const id = "5e7f1c1a-6c1d-4d56-9a57-3d0f6f6a2b11";
  const plan = await planEvents({
    source: {
      id,
      name: "logs",
      kind: "log",
      serviceId: id,
      connection: id,
      from: { databaseName: "bench", tableName: "logs" },
      timestampValueExpression: "Timestamp",
      version: 1,
      createdAt: stamp,
      updatedAt: stamp,
    },
    schema,
    series: body.series.map((item, index) => ({ item, index })),
    range,
    buckets: new Buckets({ ...range, granularity: body.granularity, zone: "UTC" }),
    mostGroups: undefined,
    exactQuantiles: true,
    warn: () => {},
    typesOf: async (expressions) => expressions.map(() => parseType("String")),
  });
  return { sql: `${plan.sql} FORMAT JSONCompact`, params: plan.params.values() };
}

function poster(baseUrl: string, token: string) {
  const { hostname, port } = new URL(baseUrl);
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return (path: string, body: object): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, path, method: "POST", headers }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      outgoing.on("error", reject);
      outgoing.end(JSON.stringify(body));
    });
}
