/** Pipes through the ClickHouse Cloud API, as far as they need no engine: names, settings, states, refusals. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { type CloudCall, cloudCaller } from "./cloud.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let call: CloudCall;
let serviceId: string;
let root: string;
beforeAll(async () => {
  api = await startApi();
  call = cloudCaller(api);
  serviceId = (await call("POST", "/services", { name: "s" })).body.result.service.id;
  await api.services.setState(serviceId, "running", null);
  root = `/services/${serviceId}/clickpipes`;
});
afterAll(() => api[Symbol.asyncDispose]());

const sources: Readonly<Record<string, JsonObject>> = {
  messageBroker: { brokers: "127.0.0.1:1", topics: "events", format: "JSONEachRow" },
  managedStream: { streamName: "events", region: "us-east-1", endpoint: "http://127.0.0.1:1", compression: "gzip" },
  objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" },
  relationalDb: {
    host: "127.0.0.1",
    database: "shop",
    tableMappings: [{ sourceSchemaName: "public", sourceTable: "orders", targetTable: "orders" }],
  },
};

/** A pipe as stored after a successful create. */
async function storedPipe(sourceKind: string, settings: Record<string, number> = {}): Promise<string> {
  const destination = { table: "events", columns: [{ name: "a", type: "String" }] };
  const source = { [sourceKind]: sources[sourceKind] as JsonObject };
  return await api.pipes.create(
    {
      ...{ serviceId, name: `of ${sourceKind}`, sourceKind, roles: undefined, fieldMappings: [], secrets: {} },
      ...{ source, destination, scaling: {}, settings },
    },
    limits.pipes,
  );
}

test.each([
  ["messageBroker", "kafka"],
  ["managedStream", "kinesis"],
  ["objectStorage", "objectStorage"],
  ["relationalDb", "postgres"],
])("a pipe of %s is one of %s, alone and in the list", async (kind, theirs) => {
  const id = await storedPipe(kind, { database_max_threads: 3, object_storage_concurrency: 2 });
  const { result } = (await call("GET", `${root}/${id}`)).body;
  expect(Object.keys(result.source)).toEqual([theirs]);
  expect(result.settings).toEqual({ clickhouse_max_threads: 3, object_storage_concurrency: 2 });
  const listed = (await call("GET", root)).body.result.find((pipe: { id: string }) => pipe.id === id);
  expect(listed.source).toEqual(result.source);
});

test("a record has what clients read without a look, and not what they do not know", async () => {
  const postgres = await call("GET", `${root}/${await storedPipe("relationalDb")}`);
  expect(postgres.body.result.source.postgres.settings).toEqual({ replicationMode: "cdc" });
  const kinesis = await call("GET", `${root}/${await storedPipe("managedStream")}`);
  expect(kinesis.body.result.source.kinesis).toEqual({ streamName: "events", region: "us-east-1" });
});

describe("settings", () => {
  const agent = { headers: { "user-agent": "terraform-provider-clickhouse/3.25.3 Commit/abc" } };
  const initial = { database_max_threads: 3, streaming_max_insert_wait_ms: 1000 };

  test("are merged, and replaced for a client that sends all of them", async () => {
    const path = `${root}/${await storedPipe("objectStorage", initial)}/settings`;
    const merged = await call("PUT", path, { clickhouse_max_insert_threads: 2 });
    expect(merged.body.result).toEqual({
      ...{ clickhouse_max_threads: 3, streaming_max_insert_wait_ms: 1000, clickhouse_max_insert_threads: 2 },
    });
    const replaced = await call("PUT", path, { clickhouse_max_threads: 4 }, agent);
    expect(replaced.body.result).toEqual({ clickhouse_max_threads: 4 });
    expect((await call("GET", path)).body.result).toEqual({ clickhouse_max_threads: 4 });
  });

  test("are all reset by an empty body, also when there are none", async () => {
    const path = `${root}/${await storedPipe("objectStorage", initial)}/settings`;
    for (const options of [{}, {}, agent]) expect((await call("PUT", path, {}, options)).body.result).toEqual({});
    expect((await call("GET", path)).body.result).toEqual({});
  });

  test("are left as they are by a body that is not an object", async () => {
    const path = `${root}/${await storedPipe("objectStorage", initial)}/settings`;
    for (const body of [[], "text", null]) {
      const { status, body: answer } = await call("PUT", path, body === null ? "null" : body);
      expect([status, answer.code]).toEqual([400, body === "text" ? "INVALID_JSON" : "BAD_REQUEST"]);
    }
    expect((await call("GET", path)).body.result).toMatchObject({ clickhouse_max_threads: 3 });
  });

  test("of a Kafka pipe tell that committed messages are read, and its record tells only what was set", async () => {
    const pipe = `${root}/${await storedPipe("messageBroker")}`;
    expect((await call("GET", `${pipe}/settings`)).body.result).toEqual({ kafka_read_committed: true });
    expect((await call("GET", pipe)).body.result.settings).toEqual({});
    const body = { kafka_read_committed: true, clickhouse_max_threads: 2 };
    expect((await call("PUT", `${pipe}/settings`, body, agent)).body.result).toEqual(body);
    expect((await call("GET", pipe)).body.result.settings).toEqual(body);
    await call("PUT", `${pipe}/settings`, { clickhouse_max_threads: 2 }, agent);
    expect((await call("GET", pipe)).body.result.settings).toEqual({ clickhouse_max_threads: 2 });
    const refused = await call("PUT", `${pipe}/settings`, { kafka_read_committed: false });
    expect(refused.body.error).toContain("kafka_read_committed must be true");
  });

  test("of other pipes have no such setting", async () => {
    const path = `${root}/${await storedPipe("objectStorage")}/settings`;
    const { status, body } = await call("PUT", path, { kafka_read_committed: true });
    expect([status, body.error]).toEqual([400, "BAD_REQUEST: settings.kafka_read_committed: is only for Kafka pipes"]);
  });

  test("are refused under our names, and by theirs when a value is wrong", async () => {
    const path = `${root}/${await storedPipe("objectStorage")}/settings`;
    const own = await call("PUT", path, { database_max_threads: 3 });
    expect(own.body.error).toContain("is not a known field");
    const wrong = await call("PUT", path, { clickhouse_max_threads: 65 });
    expect(wrong.body.issues[0].path).toBe("clickhouse_max_threads");
    expect(wrong.body.error).toContain("clickhouse_max_threads");
  });
});

test("values without an effect are kept for the pipe until it is deleted", async () => {
  const id = await storedPipe("messageBroker");
  await api.cloudMembers.keep({ kind: "pipe", id }, { "source.kafka.exactlyOnce": true });
  expect((await call("GET", `${root}/${id}`)).body.result.source.kafka.exactlyOnce).toBe(true);
  expect((await api.call("GET", `/v1/organizations/{o}/services/${serviceId}/pipes/${id}`)).text).not.toContain(
    "exactly",
  );
  const patched = await call("PATCH", `${root}/${id}`, { source: { kafka: { exactlyOnce: false } } });
  expect(patched.body.result.source.kafka.exactlyOnce).toBe(false);
  await api.pipes.remove(id);
  expect((await api.cloudMembers.find([id])).size).toBe(0);
});

test("a pipe that has loaded its objects at once is Running for clients that wait for that", async () => {
  const id = await storedPipe("objectStorage");
  await api.pipes.setState(id, "Completed", null, 1);
  expect((await call("GET", `${root}/${id}`)).body.result.state).toBe("Running");
  await api.db.run("UPDATE pipes SET created_at = ? WHERE id = ?", new Date(Date.now() - 11_000).toISOString(), id);
  expect((await call("GET", `${root}/${id}`)).body.result.state).toBe("Completed");
});

test("commands, renames and deletion", async () => {
  const id = await storedPipe("messageBroker");
  await api.pipes.setState(id, "Running", null, 1);
  const path = `${root}/${id}`;
  expect((await call("PATCH", path, { name: "renamed" })).body.result.name).toBe("renamed");
  const twice = await call("PATCH", `${path}/state`, { command: "start" });
  expect(twice.body.error).toBe("BAD_REQUEST: renamed: ClickPipe is already running");
  expect((await call("PATCH", `${path}/state`, { command: "stop" })).body.result.state).toBe("Stopping");
  expect((await call("PATCH", `${path}/scaling`, { replicas: 1 })).body.result.scaling).toEqual({ replicas: 1 });
  expect((await call("DELETE", path)).status).toBe(200);
  const missing = await call("GET", `${root}/3f2504e0-4f89-41d3-9a0c-0305e82c3301`);
  expect(missing.body.error).toBe("NOT_FOUND: ClickPipe 3f2504e0-4f89-41d3-9a0c-0305e82c3301 does not exist.");
});

describe("a pipe that cannot be created", () => {
  const kafka = { brokers: "127.0.0.1:1", topics: "t", credentials: { username: "u", password: "p" } };
  const columns = [{ name: "a", type: "String" }];
  const wanted = { name: "p", source: { kafka }, destination: { table: "t", columns } };

  test("while the service is idle, is told so in the words that clients wake it by", async () => {
    const { body } = await call("POST", "/services", { name: "asleep" });
    const { id } = body.result.service;
    await api.services.setState(id, "idle", null);
    const refused = await call("POST", `/services/${id}/clickpipes/`, wanted);
    expect([refused.status, refused.body.error]).toEqual([
      424,
      "FAILED_DEPENDENCY: ClickPipe creation is allowed only when the service is running. Current state: idle",
    ]);
  });

  test.each([
    ["a source that there is not", { source: { mysql: { host: "h" } } }, "source.mysql"],
    ["uncommitted messages", { settings: { kafka_read_committed: false } }, "settings.kafka_read_committed"],
    [
      "an account of a service",
      { source: { objectStorage: { serviceAccountKey: "x" } } },
      "source.objectStorage.serviceAccountKey",
    ],
    [
      "a column that divides a copy",
      { source: { postgres: { tableMappings: [{ partitionKey: "id", partitionByExpr: "" }] } } },
      "source.postgres.tableMappings.0.partitionKey",
    ],
  ])("%s is refused by name", async (_, change, path) => {
    const { status, body } = await call("POST", root, { ...wanted, ...change });
    expect([status, body.code, body.issues[0].path]).toEqual([400, "NOT_SUPPORTED", path]);
  });

  test("our names are unknown, and problems of theirs have their paths", async () => {
    const own = await call("POST", root, { ...wanted, source: { messageBroker: kafka } });
    expect(own.body.error).toBe("BAD_REQUEST: Invalid request body: source.messageBroker: is not a known field");
    const wrong = await call("POST", root, { ...wanted, source: { kafka: { ...kafka, brokers: "" }, mysql: null } });
    expect(wrong.body.issues.map(({ path }: { path: string }) => path)).toEqual(["source.kafka.brokers"]);
    const twice = await call("POST", root, { ...wanted, source: { kafka, kinesis: { streamName: "s", region: "r" } } });
    expect(twice.body.error).not.toMatch(/messageBroker|managedStream/);
  });
});

test("tables are removed only if the pipe has them, and the list is not sent beside", async () => {
  const path = `${root}/${await storedPipe("relationalDb")}`;
  const table = { sourceSchemaName: "public", sourceTable: "nowhere", targetTable: "nowhere" };
  const unknown = await call("PATCH", path, { source: { postgres: { tableMappingsToRemove: [table] } } });
  expect(unknown.body.issues[0].path).toBe("source.postgres.tableMappingsToRemove.0");
  const both = { tableMappingsToAdd: [table], tableMappings: [table] };
  expect((await call("PATCH", path, { source: { postgres: both } })).status).toBe(400);
  const partitioned = (partitionByExpr: string) => [
    { ...table, sourceTable: "orders", partitionByExpr, partitionKey: "" },
  ];
  const sent = async (relationalDb: object) => (await call("PATCH", path, { source: { postgres: relationalDb } })).body;
  // An empty expression is none: what is wrong is the table, which the pipe has.
  const empty = await sent({ tableMappingsToAdd: partitioned("") });
  expect(empty.issues.map((issue: { path: string }) => issue.path)).toEqual([
    "source.postgres.tableMappingsToAdd.0.sourceTable",
  ]);
  expect((await sent({ tableMappingsToAdd: partitioned(" ".repeat(1025)) })).issues[0].path).toBe(
    "source.postgres.tableMappingsToAdd.0.partitionByExpr",
  );
  const nothing = { tableMappingsToAdd: [], tableMappingsToRemove: [] };
  expect((await call("PATCH", path, { source: { postgres: nothing } })).status).toBe(200);
});

test("chart sources of a service are those below its path", async () => {
  const path = `/services/${serviceId}/clickstack/sources`;
  const body = {
    ...{ name: "logs", kind: "log", connection: serviceId, timestampValueExpression: "t" },
    from: { databaseName: "default", tableName: "logs" },
  };
  const made = (await call("POST", path, body)).body.result;
  expect(made).toMatchObject({ name: "logs", connection: serviceId });
  expect((await call("GET", path)).body.result).toEqual([made]);
  expect((await call("PUT", `${path}/${made.id}`, { ...body, name: "renamed" })).body.result.name).toBe("renamed");
  const other = (await call("POST", "/services", { name: "other" })).body.result.service.id;
  expect((await call("GET", `/services/${other}/clickstack/sources`)).body.result).toEqual([]);
  expect((await call("DELETE", `/services/${other}/clickstack/sources/${made.id}`)).status).toBe(404);
  expect((await call("DELETE", `${path}/${made.id}`)).status).toBe(200);
  expect((await call("GET", `${path}/${made.id}`)).status).toBe(404);
});
