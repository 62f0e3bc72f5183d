/** Metrics of organizations and services under the names of ClickHouse Cloud, in both APIs. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { engineNames } from "../../src/cloud-api/metrics.ts";
import { engineMetrics } from "../../src/services/engine-metrics.ts";
import { cloudCaller } from "./cloud.ts";
import { type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let own: FilledOrganization;
let other: FilledOrganization;
let service: string;

beforeAll(async () => {
  api = await startApi({
    readings: () => [
      { at: 1, values: { Service_Queries_Total: 1, Service_CpuTime_Seconds_Total: 1 } },
      { at: 2, values: { Service_Queries_Total: 41, Service_CpuTime_Seconds_Total: 2.5 } },
    ],
    gauges: () => ({ latencyMs: 70, lagBytes: 3 * 2 ** 20, "updatedRows:sales.orders": 7, unknown: 1 }),
  });
  own = await fillOrganization(api, "own");
  other = await fillOrganization(api, "other");
  service = `/v1/organizations/${own.ids.organizationId}/services/${own.ids.serviceId}`;
});
afterAll(() => api[Symbol.asyncDispose]());

/** Samples without comments. */
async function scraped(path: string): Promise<string[]> {
  const { status, headers, text } = await api.call("GET", path, own.keys.read_only);
  expect([status, headers["content-type"]]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

const valuesOf = (lines: readonly string[], name: string) =>
  lines.filter((line) => line.startsWith(`${name}{`)).map((line) => line.split(" ").at(-1));

test("a running service has its newest reading, and its pipes their counters and gauges", async () => {
  const { serviceId = "", pipeId = "" } = own.ids;
  const lines = await scraped(`${service}/prometheus`);
  const [info] = lines.filter((line) => line.startsWith("ClickHouse_ServiceInfo{"));
  expect(info).toContain(`clickhouse_service="${serviceId}"`);
  expect(info).toMatch(/clickhouse_cluster_status="running".*scrape="full"\} 1$/);
  expect(valuesOf(lines, "ClickHouseProfileEvents_Query")).toEqual(["41"]);
  expect(valuesOf(lines, "ClickHouseProfileEvents_OSCPUVirtualTimeMicroseconds")).toEqual(["2500000"]);
  expect(lines.join("\n")).toContain(`clickpipe_id="${pipeId}"`);
  expect(valuesOf(lines, "ClickPipes_Latency")).toEqual(["70"]);
  expect(valuesOf(lines, "ClickPipes_SourceReplicationLatency_MiB")).toEqual(["3"]);
  const [table] = lines.filter((line) => line.startsWith("ClickPipes_FetchedEvents_PerTable{"));
  expect(table).toMatch(/destination_table="sales.orders",event_type="update"\} 7$/);
  const filtered = await scraped(`${service}/prometheus?filtered_metrics=true`);
  expect(filtered).toEqual(lines.filter((line) => !line.startsWith("ClickPipes_FetchedEvents_PerTable{")));
});

test("a service that does not run has no numbers of its engine, and stays as it is", async () => {
  const { serviceId = "" } = own.ids;
  await api.services.setState(serviceId, "idle", null);
  const before = await api.services.find(serviceId);
  const lines = await scraped(`${service}/prometheus`);
  expect(lines.filter((line) => line.startsWith("ClickHouse"))).toEqual([
    expect.stringMatching(/^ClickHouse_ServiceInfo\{.*clickhouse_cluster_status="idle".*scrape="full"\} 1$/),
  ]);
  expect(await api.services.find(serviceId)).toEqual(before);
  await api.services.setState(serviceId, "running", null);
});

test("an organization has all its services and none of others, under the same names in the dialect", async () => {
  const path = `/v1/organizations/${own.ids.organizationId}/prometheus`;
  const lines = await scraped(path);
  expect(lines.join("\n")).not.toContain(other.ids.serviceId);
  expect(lines).toEqual(await scraped(`${service}/prometheus`));
  expect(await scraped(`/cloud${path}?filtered_metrics=false`)).toEqual(lines);
  expect(await scraped(`/cloud${service}/prometheus`)).toEqual(lines);
});

test("another value of filtered_metrics is refused by name", async () => {
  for (const prefix of ["", "/cloud"]) {
    const answer = await api.call("GET", `${prefix}${service}/prometheus?filtered_metrics=1`, own.keys.read_only);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining("filtered_metrics")]);
  }
  const known = await cloudCaller(api)("GET", `/prometheus?filtered_metrics=true`);
  expect(known.status).toBe(200);
});

test("every number of an engine that has a name there is one that is read", () => {
  const read = engineMetrics.map(({ name }) => name);
  expect(Object.keys(engineNames).filter((name) => !read.includes(name))).toEqual([]);
});
