/**
 * Clients of the ClickHouse Cloud API against running services: the requests of the Terraform provider in their order,
 * and the command line itself. Every response is checked against the published document.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clickhousectl, clickhousectlMissing } from "../../../harness/clickhousectl.ts";
import { responseProblems } from "../../../harness/cloud-responses.ts";
import { type Kfake, kfakeMissing, startKfake } from "../../../harness/kafka/kfake.ts";
import { accessKey as kinesisKey, startKinesalite, type TestKinesis } from "../../../harness/kinesis/kinesis.ts";
import { freePort } from "../../../harness/network/free-port.ts";
import { startTestStore, type TestStore } from "../../../harness/objects/object-store.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type Served, serve, until, untilText } from "../../../harness/serve.ts";

const missing = kfakeMissing() ?? postgresMissing(18);
const ctlMissing = missing ?? clickhousectlMissing();
for (const reason of new Set([missing, ctlMissing])) if (reason !== undefined) console.warn(`skipped: ${reason}`);

const columns = [
  { name: "id", type: "Int64" },
  { name: "name", type: "String" },
];
const fieldMappings = columns.map(({ name }) => ({ sourceField: name, destinationField: name }));
const login = { mechanism: "PLAIN", username: "pipe", password: "pipe-secret" };
const agent = "terraform-provider-clickhouse/3.25.3 Commit/test";
const line = (id: number) => JSON.stringify({ id, name: `name ${id}` });

let served: Served;
let cloudPort: number;
let kafka: Kfake;
let kinesis: TestKinesis;
let store: TestStore;
let postgres: TestPostgres;

describe.skipIf(missing !== undefined)("clients", () => {
  beforeAll(async () => {
    [kafka, kinesis, store, postgres] = await Promise.all([
      startKfake({ topics: { events: 2 }, login }),
      startKinesalite(),
      startTestStore(),
      TestPostgres.start(),
    ]);
    cloudPort = await freePort();
    const env = { AWS_ENDPOINT_URL_KINESIS: kinesis.endpoint, MILLRACE_CLOUD_PORT: String(cloudPort) };
    served = await serve({ env });
    await kafka.produce("events", 0, 10);
    await store.put("files/a.json", [1, 2, 3].map(line).join("\n"));
    for (const [table, rows] of [
      ["orders", 20],
      ["users", 5],
    ] as const) {
      await postgres.sql(`CREATE TABLE ${table} (id bigint PRIMARY KEY, name text)`);
      await postgres.sql(`INSERT INTO ${table} SELECT n, 'name ' || n FROM generate_series(1, ${rows}) n`);
    }
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    for (const peer of [kafka, kinesis, store, postgres]) await peer?.[Symbol.asyncDispose]();
  });

  test("a service with four pipes is created, changed, stopped, started and deleted", async () => {
    await terraformGraph();
  });

  test("a port of its own serves the same without a prefix, and nothing else", async () => {
    const { keyId, keySecret, organizationId } = served.credentials;
    const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
    const status = async (path: string, headers: Record<string, string> = { authorization }) =>
      (await fetch(`http://127.0.0.1:${cloudPort}${path}`, { headers })).status;
    expect(await status(`/v1/organizations/${organizationId}/services`)).toBe(200);
    expect(await status(`/v1/organizations/${organizationId}/services`, {})).toBe(401);
    for (const path of ["/v1/me", "/cloud/v1/organizations", "/metrics", "/console/"]) {
      expect([path, await status(path)]).toEqual([path, 404]);
    }
  });

  test.skipIf(ctlMissing !== undefined)("clickhousectl manages a service and its pipes", async () => {
    await commandLine();
  });
});

async function send(method: string, path: string, body?: unknown) {
  const { cloudApiUrl, keyId, keySecret, organizationId } = served.credentials;
  const whole = `/organizations/${organizationId}${path}`;
  const response = await fetch(cloudApiUrl + whole, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`,
      "user-agent": agent,
      ...(body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: bodies under test are looked at member by member
  const answer = (await response.json()) as any;
  expect(responseProblems(method, `/v1${whole}`, response.status, answer)).toEqual([]);
  return { status: response.status, ...answer };
}

async function ok(method: string, path: string, body?: unknown) {
  const answer = await send(method, path, body);
  expect([answer.status, answer.error]).toEqual([200, undefined]);
  return answer.result;
}

/** Polls as the provider does. */
async function untilService(path: string, state: string) {
  return await until(`service ${state}`, async () => {
    const [record] = await Promise.all([ok("GET", path), ok("GET", `${path}/privateEndpointConfig`)]);
    expect((await send("GET", `${path}/serviceQueryEndpoint`)).status).toBe(404);
    return record.state === state ? record : undefined;
  });
}

async function untilPipe(path: string, states: readonly string[]) {
  return await until(`pipe ${states.join(" or ")}`, async () => {
    const record = await ok("GET", path);
    if (record.state === "Failed") throw new Error(record.lastError);
    return states.includes(record.state) ? record : undefined;
  });
}

/** Rows at the endpoint that the dialect names. */
async function untilCount(service: { endpoints: { host: string; port: number }[] }, counts: Record<string, number>) {
  const [endpoint] = service.endpoints;
  for (const [table, wanted] of Object.entries(counts)) {
    await untilText(`${wanted} rows in ${table}`, String(wanted), async () => {
      const response = await fetch(`http://${endpoint?.host}:${endpoint?.port}/`, {
        method: "POST",
        headers: { "x-clickhouse-user": "default", "x-clickhouse-key": "Accept-Me-1" },
        body: `SELECT uniqExact(id) FROM ${table}`,
      });
      return (await response.text()).trim();
    });
  }
}

async function acceptedService(): Promise<{ path: string; record: { id: string; endpoints: [] } }> {
  const created = await ok("POST", "/services", {
    ...{ isReadonly: false, name: "acceptance", provider: "aws", region: "us-east-1", idleScaling: true },
    ...{ idleTimeoutMinutes: 15, autoscalingMode: "vertical", minReplicaMemoryGb: 8, maxReplicaMemoryGb: 16 },
    ...{ ipAccessList: [{ source: "0.0.0.0/0", description: "anywhere" }], tags: [{ key: "env", value: "test" }] },
  });
  const path = `/services/${created.service.id}`;
  const record = await untilService(path, "running");
  const sha1 = (value: string | Buffer) => createHash("sha1").update(value).digest();
  const newPasswordHash = createHash("sha256").update("Accept-Me-1").digest("base64");
  const newDoubleSha1Hash = sha1(sha1("Accept-Me-1")).toString("hex");
  await ok("PATCH", `${path}/password`, { newPasswordHash, newDoubleSha1Hash });
  const backups = { backupPeriodInHours: 12, backupRetentionPeriodInHours: 48 };
  await ok("PATCH", `${path}/backupConfiguration`, { ...backups, backupStartTime: null });
  return { path, record };
}

function definitions() {
  const destination = (table: string) => ({
    ...{ database: "default", table, managedTable: true, columns },
    tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["id"] },
  });
  const { username, password } = login;
  return {
    events: {
      ...{ name: "events", destination: destination("events"), fieldMappings },
      source: {
        kafka: {
          ...{ type: "kafka", format: "JSONEachRow", brokers: kafka.brokers, topics: "events" },
          ...{ authentication: "PLAIN", credentials: { username, password }, exactlyOnce: true },
          offset: { strategy: "from_beginning" },
        },
      },
    },
    files: {
      ...{ name: "files", destination: destination("files"), fieldMappings },
      source: {
        objectStorage: {
          ...{ type: "s3", format: "JSONEachRow", url: `${store.endpoint}/${store.bucket}/files/*.json` },
          ...{ isContinuous: false, authentication: "IAM_USER", accessKey: store.accessKey },
        },
      },
    },
    stream: {
      ...{ name: "stream", destination: destination("stream"), fieldMappings },
      source: {
        kinesis: {
          ...{ format: "JSONEachRow", streamName: "events", region: "us-east-1", iteratorType: "TRIM_HORIZON" },
          ...{ useEnhancedFanOut: false, authentication: "IAM_USER" },
          accessKey: kinesisKey,
        },
      },
    },
    shop: {
      name: "shop",
      source: {
        postgres: {
          ...{ type: "postgres", host: "127.0.0.1", port: postgres.port, database: "postgres", disableTls: true },
          credentials: { username: postgres.user, password: postgres.password },
          settings: { replicationMode: "cdc", syncIntervalSeconds: 1 },
          tableMappings: [mapping("orders")],
        },
      },
      destination: { database: "default" },
    },
  };
}

function mapping(table: string) {
  const hints = { partitionKey: "", partitionByExpr: "" };
  return { sourceSchemaName: "public", sourceTable: table, targetTable: table, ...hints };
}

async function terraformGraph(): Promise<void> {
  await kinesis.createStream("events", 1);
  const records = Array.from({ length: 7 }, (_, i) => ({ PartitionKey: String(i), Data: Buffer.from(line(i)) }));
  await kinesis.put("events", records);
  const { path, record } = await acceptedService();
  expect((await ok("GET", "/services?filter=tag:env=test")).map(({ id }: { id: string }) => id)).toEqual([record.id]);
  const pipes: Record<string, string> = {};
  for (const [name, definition] of Object.entries(definitions())) {
    const { id, source } = await ok("POST", `${path}/clickpipes/`, definition);
    pipes[name] = `${path}/clickpipes/${id}`;
    if (name === "events") expect(source.kafka.exactlyOnce).toBe(true);
    expect(JSON.stringify(source)).not.toMatch(/secret|SK-of/);
  }
  for (const name of ["events", "files", "stream", "shop"])
    await untilPipe(pipes[name] as string, ["Running", "Snapshot"]);
  await untilCount(record, { events: 10, files: 3, stream: 7, orders: 20 });
  await pausedPipe(path);
  const events = pipes.events as string;
  await ok("PATCH", `${events}/scaling`, { replicas: 1 });
  await ok("PUT", `${events}/settings`, { streaming_max_insert_wait_ms: 1000, clickhouse_max_threads: 2 });
  await ok("PUT", `${events}/settings`, { streaming_max_insert_wait_ms: 1000 });
  expect((await ok("GET", events)).settings).toEqual({ streaming_max_insert_wait_ms: 1000 });
  await ok("PUT", `${events}/settings`, {});
  await ok("PATCH", `${events}/state`, { command: "stop" });
  await untilPipe(events, ["Stopped", "Paused"]);
  await ok("PATCH", `${events}/state`, { command: "start" });
  await untilPipe(events, ["Running"]);
  await changeTables(pipes.shop as string, record);
  await untilPipe(pipes.files as string, ["Completed"]);
  await destroy(path, Object.values(pipes));
}

/** A pipe that is created paused reads nothing before it is started. */
async function pausedPipe(service: string): Promise<void> {
  const { events } = definitions();
  const destination = { ...events.destination, table: "held" };
  const { id, state } = await ok("POST", `${service}/clickpipes/`, { ...events, destination, startPaused: true });
  expect(state).toBe("Stopped");
  await ok("PATCH", `${service}/clickpipes/${id}/state`, { command: "start" });
  await untilPipe(`${service}/clickpipes/${id}`, ["Running"]);
  await ok("DELETE", `${service}/clickpipes/${id}`);
}

/** Adds a table and removes another; the source is sent as the provider does, with what does not change. */
async function changeTables(shop: string, service: { endpoints: [] }): Promise<void> {
  const change = async (tableMappingsToAdd: object[], tableMappingsToRemove: object[]) => {
    await ok("PATCH", `${shop}/state`, { command: "stop" });
    await untilPipe(shop, ["Stopped", "Paused"]);
    await ok("PATCH", shop, { source: { postgres: { tableMappingsToAdd, tableMappingsToRemove } } });
    await send("PATCH", `${shop}/state`, { command: "start" });
    return (await untilPipe(shop, ["Running", "Snapshot"])).source.postgres.tableMappings;
  };
  const names = (mappings: { sourceTable: string }[]) => mappings.map(({ sourceTable }) => sourceTable);
  expect(names(await change([mapping("users")], []))).toEqual(["orders", "users"]);
  await untilCount(service, { orders: 20, users: 5 });
  expect(names(await change([], [mapping("orders")]))).toEqual(["users"]);
}

async function destroy(path: string, pipes: readonly string[]): Promise<void> {
  for (const pipe of pipes) await ok("DELETE", pipe);
  await ok("PATCH", `${path}/state`, { command: "stop" });
  await untilService(path, "stopped");
  await ok("DELETE", path);
  await until("the service is gone", async () => (await send("GET", path)).status === 404);
}

async function commandLine(): Promise<void> {
  using ctl = clickhousectl(served.credentials);
  const created = await ctl.cloud("service", "create", "--name", "by command");
  const id: string = created.service.id;
  await until("the service runs", async () => (await ctl.cloud("service", "get", id)).state === "running");
  const kafkaArgs = ["--brokers", kafka.brokers, "--topics", "events", "--format", "JSONEachRow", "--auth", "PLAIN"];
  const loginArgs = ["--username", login.username, "--password", login.password];
  const table = ["--database", "default", "--table", "by_command", "--column", "id:Int64", "--column", "name:String"];
  const kafkaPipe = await ctl.cloud(
    "clickpipe",
    "create",
    "kafka",
    id,
    "--name",
    "k",
    ...kafkaArgs,
    ...loginArgs,
    ...table,
  );
  const source = ["--host", "127.0.0.1", "--port", String(postgres.port), "--pg-database", "postgres", "--disable-tls"];
  const owner = ["--username", postgres.user, "--password", postgres.password];
  const tables = ["--table-mapping", "public.orders:orders_by_command"];
  const shop = await ctl.cloud("clickpipe", "create", "postgres", id, "--name", "p", ...source, ...owner, ...tables);
  const state = async (pipe: string) => (await ctl.cloud("clickpipe", "get", id, pipe)).state;
  for (const pipe of [kafkaPipe.id, shop.id])
    await until("the pipe runs", async () => (await state(pipe)) === "Running");
  await ctl.cloud("clickpipe", "settings", "update", id, kafkaPipe.id, "--clickhouse-max-threads", "3");
  const settings = await ctl.cloud("clickpipe", "settings", "get", id, kafkaPipe.id);
  expect(settings).toMatchObject({ clickhouse_max_threads: 3, kafka_read_committed: true });
  await ctl.cloud("clickpipe", "scale", id, kafkaPipe.id, "--memory-gb", "1");
  await ctl.cloud("clickpipe", "stop", id, kafkaPipe.id);
  await until("the pipe is stopped", async () => (await state(kafkaPipe.id)) === "Stopped");
  await ctl.cloud("clickpipe", "start", id, kafkaPipe.id);
  expect((await ctl.cloud("clickpipe", "list", id)).map(({ name }: { name: string }) => name).sort()).toEqual([
    "k",
    "p",
  ]);
  await expect(ctl.cloud("service", "update", id, "--name", "")).rejects.toThrow();
  for (const pipe of [kafkaPipe.id, shop.id]) await ctl.cloud("clickpipe", "delete", id, pipe);
  await ctl.cloud("service", "delete", id, "--force");
  await until("the service is gone", async () => {
    await delay(200);
    return (await ctl.cloud("service", "list")).every((service: { id: string }) => service.id !== id);
  });
}
