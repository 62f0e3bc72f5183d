/**
 * The main workflow on real data, with npm alone: a local S3 server, a database service, two pipes with live progress,
 * and charts. Runs until Ctrl-C; `--once` ends after the charts.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { plot } from "asciichart";
import { type ApiClient, createApiClient } from "../api/client.ts";
import type { FirstCredentials } from "../api/first-credentials.ts";
import { createLogger } from "../lib/logger.ts";
import { openBrowser } from "../lib/open-browser.ts";
import { ShutdownStack } from "../lib/shutdown-stack.ts";
import { createDashboard } from "./dashboard.ts";
import { demoFile } from "./data-files.ts";
import { accessKey, arrivals, bucket, type DemoStore, startDemoStore } from "./object-store.ts";
import { startMillrace } from "./server.ts";

const columns = [
  { name: "date", type: "DateTime64(3, 'UTC')" },
  { name: "delay", type: "Int32" },
  { name: "distance", type: "Int32" },
  { name: "origin", type: "LowCardinality(String)" },
  { name: "destination", type: "LowCardinality(String)" },
];

const stopping = new AbortController();
const closers = new ShutdownStack(createLogger("warn"));

export type DemoOptions = { readonly once: boolean; readonly open: boolean };

/**
 * Runs until SIGINT or SIGTERM; with `once`, until the charts are drawn. With `open`, the browser shows the console
 * then. Rejects when a step fails.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort());
  // The reader of the output may close it early; the server and its data are removed even then.
  process.stdout.on("error", () => stopping.abort());
  try {
    await demo(options);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  } finally {
    progress("Stopping ...", false);
    await closers.closeAll();
    progress("Everything has been stopped and removed.", true);
  }
}

async function demo({ once, open }: DemoOptions): Promise<void> {
  const started = performance.now();
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-demo-"));
  closers.add("data", () => rmSync(dataDir, { recursive: true, force: true }));
  heading("Starting Millrace, a local S3 server and a database service");
  const [server, store] = await Promise.all([startMillrace(dataDir), startDemoStore()]);
  closers.add("object store", () => store.close());
  closers.add("server", () => server.stop());
  const { credentials } = server;
  const api = createApiClient(credentials);
  const organizationId = credentials.organizationId;
  const created = await api.createService({ params: { organizationId }, body: { name: "Demo" } });
  const serviceId = created.service.id;
  const params = { organizationId, serviceId };
  const uploaded = store.putFile("history/flights-3m.parquet", demoFile("flights-3m.parquet"));
  await waitFor(async () => (await api.getService({ params })).state === "running");
  const bytes = await uploaded;
  say(`  service ${serviceId} is running; ${(bytes / 1e6).toFixed(1)} MB of Parquet are in s3://${bucket}`);

  heading("Pipe 1: three million flights of 2001 from Parquet, one-shot");
  await loadHistory(api, params, store);
  heading("Pipe 2: new flights every second from newline-delimited JSON, continuous");
  const { ended, pipeId } = await feedArrivals(api, params, store);
  closers.add("arrivals", () => ended);

  const sources = await createSources(credentials, serviceId);
  const dashboardId = await createDashboard(api, organizationId, { serviceId, pipeId, sourceId: sources.arrivals });
  await drawHistory(credentials, sources.history);
  await drawArrivals(credentials, sources.arrivals);
  say(`\nDone in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  if (open) await openConsole(api, organizationId);
  if (once) return stopping.abort();
  explain(credentials, created.service.endpoints[0]?.port ?? 0, created.password, serviceId);
  say(`  dashboard          ${credentials.baseUrl}/console/dashboards/${dashboardId}`);
  await offerConsole(api, organizationId);
  while (!stopping.signal.aborted) {
    await delay(10_000, undefined, { signal: stopping.signal });
    // What is suggested above stops the service, and a visitor may delete what is drawn.
    await drawArrivals(credentials, sources.arrivals).catch((error: Error) =>
      stopping.signal.aborted ? undefined : say(`  There are no numbers now: ${error.message}`),
    );
  }
}

type Params = { organizationId: string; serviceId: string };

function flightPipe(
  name: string,
  url: string,
  table: string,
  more: { format: "Parquet" | "JSONEachRow"; isContinuous: boolean },
) {
  return {
    name,
    source: { objectStorage: { type: "s3" as const, url, authentication: "IAM_USER" as const, accessKey, ...more } },
    destination: {
      database: "default",
      table,
      managedTable: true,
      tableDefinition: { engine: { type: "MergeTree" as const }, sortingKey: ["origin", "date"] },
      columns,
    },
    fieldMappings: columns.map(({ name: field }) => ({ sourceField: field, destinationField: field })),
    settings: { object_storage_polling_interval_ms: 500 },
  };
}

async function loadHistory(api: ApiClient, params: Params, store: DemoStore): Promise<void> {
  const url = `${store.endpoint}/${bucket}/history/*.parquet`;
  const body = flightPipe("Flights of 2001", url, "flights", { format: "Parquet", isContinuous: false });
  const started = performance.now();
  const pipe = await api.createPipe({ params, body });
  for (;;) {
    const now = await api.getPipe({ params: { ...params, pipeId: pipe.id } });
    const final = now.state === "Completed" || now.state === "Failed";
    const rows = (now.progress.sentRows ?? 0).toLocaleString("en-US");
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const loaded = now.progress.filesLoaded ?? 0;
    const files = `${loaded} ${loaded === 1 ? "file" : "files"}`;
    progress(`  ${now.state.padEnd(12)} ${rows} rows, ${files}, ${seconds} s`, final);
    if (now.state === "Failed") throw new Error(`the pipe failed: ${now.lastError}`);
    if (final) return;
    await delay(100, undefined, { signal: stopping.signal });
  }
}

/** Starts the continuous pipe, waits for ten files, and keeps adding files in the background. */
async function feedArrivals(
  api: ApiClient,
  params: Params,
  store: DemoStore,
): Promise<{ ended: Promise<void>; pipeId: string }> {
  const url = `${store.endpoint}/${bucket}/arrivals/*.ndjson`;
  const body = flightPipe("Arriving flights", url, "arrivals", { format: "JSONEachRow", isContinuous: true });
  const pipe = await api.createPipe({ params, body });
  let files = 0;
  const ended = (async () => {
    for (const text of arrivals(demoFile("flights-20k.json"), 500)) {
      if (stopping.signal.aborted) return;
      await store.put(`arrivals/${String(files).padStart(8, "0")}.ndjson`, text);
      files += 1;
      await delay(files < 12 ? 300 : 1000, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  for (;;) {
    const now = await api.getPipe({ params: { ...params, pipeId: pipe.id } });
    const loaded = now.progress.filesLoaded ?? 0;
    const rows = (now.progress.sentRows ?? 0).toLocaleString("en-US");
    progress(`  ${now.state.padEnd(12)} ${rows} rows, ${loaded} of ${files} files loaded`, loaded >= 10);
    if (loaded >= 10) return { ended, pipeId: pipe.id };
    await delay(100, undefined, { signal: stopping.signal });
  }
}

async function observe(credentials: FirstCredentials, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, credentials.observabilityBaseUrl), {
    method: "POST",
    headers: { authorization: `Bearer ${credentials.accessToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { data?: unknown; message?: string };
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${answer.message}`);
  return answer.data;
}

async function createSources(credentials: FirstCredentials, serviceId: string) {
  const create = async (name: string, tableName: string) => {
    const body = {
      name,
      kind: "table",
      serviceId,
      from: { databaseName: "default", tableName },
      timestampValueExpression: "date",
    };
    return ((await observe(credentials, "/api/v2/sources", body)) as { id: string }).id;
  };
  return {
    history: await create("Flights of 2001", "flights"),
    arrivals: await create("Arriving flights", "arrivals"),
  };
}

async function series(credentials: FirstCredentials, request: object): Promise<Point[]> {
  const rows = (await observe(credentials, "/api/v2/charts/series", request)) as Record<string, number>[];
  return rows.map((row) => ({ time: row.ts_bucket ?? 0, value: row["series_0.data"] ?? 0 }));
}

async function drawHistory(credentials: FirstCredentials, sourceId: string): Promise<void> {
  const points = await series(credentials, {
    startTime: Date.UTC(2001, 0, 1),
    endTime: Date.UTC(2001, 5, 30),
    granularity: "2d",
    series: [{ sourceId, aggFn: "count", where: "delay:>60", groupBy: [] }],
  });
  chart("Flights more than an hour late, per two days (POST /api/v2/charts/series)", points);
}

async function drawArrivals(credentials: FirstCredentials, sourceId: string): Promise<void> {
  const now = Date.now();
  const rows = (await observe(credentials, "/api/v2/charts/series", {
    startTime: now - 300_000,
    endTime: now,
    granularity: "30s",
    series: [{ sourceId, aggFn: "count", where: "", groupBy: [] }],
  })) as Record<string, number>[];
  heading("Rows received, per 30 seconds");
  for (const row of rows) {
    const value = row["series_0.data"] ?? 0;
    say(
      `  ${new Date(row.ts_bucket ?? 0).toISOString().slice(11, 19)}  ${"█".repeat(Math.ceil(value / 500))} ${value}`,
    );
  }
}

/** Without a browser, the link is printed. */
async function openConsole(api: ApiClient, organizationId: string): Promise<void> {
  const { url } = await api.createConsoleLink({ params: { organizationId } });
  try {
    await openBrowser(url, { home: homedir() });
  } catch (error) {
    say(`  ${(error as Error).message}; the link is ${url}`);
  }
}

function explain(credentials: FirstCredentials, port: number, password: string, serviceId: string): void {
  const { baseUrl, organizationId, keyId, keySecret, accessToken } = credentials;
  const service = `${baseUrl}/v1/organizations/${organizationId}/services/${serviceId}`;
  heading("What to try next");
  say(`  API documentation  ${baseUrl}/docs  metrics  ${baseUrl}/metrics
  organization       ${organizationId}
  API key            ${keyId}:${keySecret}
  access token       ${accessToken}
  database           http://127.0.0.1:${port}  user default  password ${password}

  # query the database
  curl -u 'default:${password}' 'http://127.0.0.1:${port}/' --data 'SELECT origin, count() AS flights FROM flights GROUP BY origin ORDER BY flights DESC LIMIT 5 FORMAT PrettyCompact'
  # list the pipes
  curl -u '${keyId}:${keySecret}' '${service}/pipes'
  # stop the service; '{"command":"start"}' starts it again, and its rows are kept
  curl -u '${keyId}:${keySecret}' -X PATCH -H 'Content-Type: application/json' -d '{"command":"stop"}' '${service}/state'`);
}

/** A link that signs a browser in, and keys for another one: a link works once. */
async function offerConsole(api: ApiClient, organizationId: string): Promise<void> {
  const makeLink = async () => (await api.createConsoleLink({ params: { organizationId } })).url;
  const show = (link: string) => say(`  ${link}`);
  heading("Open the console: this link signs you in once, within ten minutes");
  let link = await makeLink();
  show(link);
  const stop = onKeys({
    o: () => openBrowser(link, { home: homedir() }).catch(() => {}),
    l: async () => {
      link = await makeLink();
      show(link);
    },
    c: () => stopping.abort(),
  });
  closers.add("keys", stop);
  const keys = process.stdin.isTTY ? "Press o to open it, l for a new link. " : "";
  say(`\n${keys}Press Ctrl-C to stop everything and remove the demo's data.`);
}

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(50, undefined, { signal: stopping.signal });
}

/**
 * Calls the function of a key that is pressed; `c` stands for Ctrl-C, which a terminal in this mode does not turn into
 * a signal. Without a terminal does nothing. Returns a function that ends it.
 */
function onKeys(actions: Readonly<Record<string, () => void | Promise<void>>>): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const listen = (chunk: Buffer) => {
    const key = chunk.toString("utf8");
    void actions[key === "\u0003" ? "c" : key]?.();
  };
  stdin.setRawMode(true);
  stdin.on("data", listen);
  return () => {
    stdin.off("data", listen);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

/** The demo's output: progress that redraws itself, a chart, and plain lines when the output is not a terminal. */
const live = process.stdout.isTTY;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Replaces the current line on a terminal; elsewhere prints only the final state. */
function progress(text: string, final: boolean): void {
  if (live) process.stdout.write(`\r\u001b[2K${text}${final ? "\n" : ""}`);
  else if (final) say(text);
}

function heading(text: string): void {
  say(live ? `\n\u001b[1m${text}\u001b[0m` : `\n${text}`);
}

type Point = { readonly time: number; readonly value: number };

/** A line chart with its time range below. */
function chart(title: string, points: readonly Point[], height = 10): void {
  heading(title);
  if (points.length < 2) {
    say("(not enough points yet)");
    return;
  }
  const width = Math.max(20, (process.stdout.columns ?? 100) - 16);
  const values = points.map((point) => point.value);
  const format = (value: number) => Math.round(value).toLocaleString("en-US").padStart(10);
  say(plot(values.length > width ? values.slice(-width) : values, { height, format }));
  const label = (point: Point | undefined) => new Date(point?.time ?? 0).toISOString().slice(0, 16).replace("T", " ");
  say(`${" ".repeat(12)}${label(points[0])}  to  ${label(points.at(-1))} (UTC)`);
}
