import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { limits } from "../../harness/limits.ts";
import { isOnPostgres } from "../../harness/stores.ts";
import { sourceKinds } from "../../src/sources/contract/registry.ts";
import { Sealer } from "../../src/store/database/secrets.ts";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let root: string;
let serviceId: string;

const columns = [
  { name: "time", type: "DateTime64(3)" },
  { name: "user", type: "String" },
];
const definition = {
  name: "Events",
  source: {
    objectStorage: {
      url: "http://127.0.0.1:1/bucket/*.json",
      authentication: "IAM_USER",
      accessKey: { accessKeyId: "AKIA", secretKey: "very-secret" },
    },
  },
  destination: { table: "events", columns },
};

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  serviceId = body.result.service.id;
  root = `/v1/organizations/{o}/services/${serviceId}/pipes`;
  await api.services.setState(serviceId, "running", null);
});
afterAll(() => api[Symbol.asyncDispose]());

/** A pipe as stored after a successful create. */
async function storedPipe(): Promise<string> {
  return await api.pipes.create(
    {
      ...{ serviceId, name: "Events", sourceKind: "objectStorage", roles: ["writer"], fieldMappings: [] },
      source: { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json", authentication: "IAM_USER" } },
      secrets: { accessKey: { accessKeyId: "AKIA", secretKey: "very-secret" } },
      ...{ destination: { table: "events", columns }, scaling: {}, settings: { object_storage_concurrency: 2 } },
    },
    limits.pipes,
  );
}

const long = `Enum8(${Array.from({ length: 120 }, (_, i) => `'value ${i}' = ${i}`).join(", ")})`;
const issuePaths = (body: { issues?: { path: string }[] }) => body.issues?.map((issue) => issue.path);

describe("creating a pipe", () => {
  const create = (change: object) => api.call("POST", root, { body: { ...definition, ...change } });

  test.each([
    ["no source", { source: {} }, ["source"]],
    ["two sources", { source: { ...definition.source, managedStream: { streamName: "s", region: "r" } } }, ["source"]],
    ["no name", { name: undefined }, ["name"]],
    ["no table", { destination: { columns } }, ["destination.table"]],
    ["no columns", { destination: { table: "t" } }, ["destination.columns"]],
    ["an address that is none", { source: { objectStorage: { url: "bucket/x" } } }, ["source.objectStorage.url"]],
    [
      "IAM_USER without a key",
      { source: { objectStorage: { url: "https://h/b/*", authentication: "IAM_USER" } } },
      ["source.objectStorage.accessKey"],
    ],
    [
      "a queue without isContinuous",
      { source: { objectStorage: { url: "https://h/b/*", queueUrl: "https://sqs.eu-west-1.amazonaws.com/1/q" } } },
      ["source.objectStorage.queueUrl"],
    ],
    [
      "a format that is none",
      { source: { objectStorage: { url: "https://h/b/*", format: "XML" } } },
      ["source.objectStorage.format"],
    ],
    [
      "a mapping that leaves a column out",
      { fieldMappings: [{ sourceField: "t", destinationField: "time" }] },
      ["fieldMappings"],
    ],
    [
      "a type that is none",
      { destination: { table: "t", columns: [{ name: "a", type: "String DEFAULT file('/etc/passwd')" }] } },
      ["destination.columns.0.type"],
    ],
    [
      "types that are too long together",
      { destination: { table: "t", columns: Array.from({ length: 240 }, (_, i) => ({ name: `c${i}`, type: long })) } },
      ["destination.columns"],
    ],
    [
      "a partition expression that ends in a comment",
      { destination: { table: "t", columns, tableDefinition: { partitionBy: "toString(user) -- " } } },
      ["destination.tableDefinition.partitionBy"],
    ],
    [
      "a partition expression that runs something",
      { destination: { table: "t", columns, tableDefinition: { partitionBy: "(SELECT 1)" } } },
      ["destination.tableDefinition.partitionBy"],
    ],
    [
      "a replacing engine without version and sorting key",
      { destination: { table: "t", columns, tableDefinition: { engine: { type: "ReplacingMergeTree" } } } },
      ["destination.tableDefinition.engine.versionColumnId", "destination.tableDefinition.sortingKey"],
    ],
    ["too many replicas", { scaling: { replicas: 41 } }, ["scaling.replicas"]],
    ["too little memory", { scaling: { replicaMemoryGb: 0.25 } }, ["scaling.replicaMemoryGb"]],
    ["a concurrency of zero", { settings: { object_storage_concurrency: 0 } }, ["settings.object_storage_concurrency"]],
    ["an unknown setting", { settings: { max_threads: 1 } }, ["settings.max_threads"]],
  ])("with %s is refused, naming the field", async (_name, change, paths) => {
    const { status, body } = await create(change);
    expect(status).toBe(400);
    expect(issuePaths(body)).toEqual(paths);
    expect(JSON.stringify(body)).not.toContain("very-secret");
    expect((await api.call("GET", root)).body.result).toEqual([]);
  });

  test.each(["idle", "stopped", "starting"] as const)(
    "on a service that is %s is 424 with the state",
    async (state) => {
      await api.services.setState(serviceId, state, null);
      const { status, body } = await create({});
      await api.services.setState(serviceId, "running", null);
      expect([status, body.code]).toEqual([424, "SERVICE_NOT_RUNNING"]);
      expect(body.error).toBe(
        `FAILED_DEPENDENCY: Pipe creation is allowed only when the service is running. Current state: ${state}`,
      );
    },
  );
});

describe("a pipe", () => {
  test("is shown as it was sent: without secrets, roles, or members that were not set", async () => {
    const id = await storedPipe();
    const { body, text } = await api.call("GET", `${root}/`);
    const shown = body.result.find((pipe: { id: string }) => pipe.id === id);
    expect(shown).toEqual({
      progress: { fetchedRows: 0, sentRows: 0, refusedRows: 0, skippedRows: 0 },
      errorTable: "events_pipes_error",
      version: 1,
      ...{ id, serviceId, name: "Events", state: "Provisioning", scaling: {}, fieldMappings: [] },
      source: { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json", authentication: "IAM_USER" } },
      destination: { table: "events", columns },
      settings: { object_storage_concurrency: 2 },
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect(text).not.toMatch(/very-secret|AKIA|writer/);
    const details = await api.call("GET", `${root}/${id}`);
    expect(details.body.result.progress).toMatchObject({ lagMs: 5, fetchedRows: 0 });
  });

  test("settings merge, null resets, bounds hold, an empty change is refused", async () => {
    const id = await storedPipe();
    const path = `${root}/${id}/settings`;
    const put = (body: object) => api.call("PUT", path, { body });
    expect((await put({ database_max_threads: 3 })).body.result).toEqual({
      object_storage_concurrency: 2,
      database_max_threads: 3,
    });
    expect((await put({ object_storage_concurrency: null })).body.result).toEqual({ database_max_threads: 3 });
    expect((await put({ object_storage_max_file_count: 10_001 })).status).toBe(400);
    expect((await put({})).status).toBe(400);
    expect((await api.call("GET", path)).body.result).toEqual({ database_max_threads: 3 });
  });

  test("patch changes what may change, tolerates what stays, refuses the rest by name", async () => {
    const id = await storedPipe();
    const patch = (body: object) => api.call("PATCH", `${root}/${id}`, { body });
    const renamed = await patch({ name: "New", settings: { object_storage_concurrency: 5 } });
    expect(renamed.body.result).toMatchObject({ name: "New", settings: { object_storage_concurrency: 5 } });
    const refused = await patch({ source: { objectStorage: { url: "https://h/other/*" } } });
    expect([refused.status, issuePaths(refused.body)]).toEqual([400, ["source.objectStorage.url"]]);
    const other = await patch({ source: { messageBroker: { brokers: "b" } } });
    expect(issuePaths(other.body)).toEqual(["source.messageBroker"]);
    expect(await api.pipes.secrets(id)).toEqual({ accessKey: { accessKeyId: "AKIA", secretKey: "very-secret" } });
  });

  test("commands: stop from any state, start only when it does not run, resync with a choice for the rows", async () => {
    const id = await storedPipe();
    const command = (name: string) => api.call("PATCH", `${root}/${id}/state`, { body: { command: name } });
    const again = await command("start");
    expect([again.status, again.body.error]).toEqual([400, "BAD_REQUEST: Events: the pipe is already running"]);
    expect((await command("stop")).status).toBe(200);
    expect((await command("stop")).status).toBe(200);
    expect((await command("start")).status).toBe(200);
    await api.pipes.setState(id, "Failed", "broken", 1);
    expect((await command("start")).status).toBe(200);
    const resync = (rows?: string) =>
      api.call("PATCH", `${root}/${id}/state`, { body: { command: "resync", ...(rows && { rows }) } });
    expect(issuePaths((await resync()).body)).toEqual(["rows"]);
    for (const rows of ["keep", "truncate"] as const) {
      expect((await resync(rows)).body.result.state).toBe("Resync");
      expect(await api.pipes.find(id)).toMatchObject({ resyncRequested: true, keepsRows: rows === "keep" });
    }
  });

  test("resync of some objects: those that the pipe has read, with rows: keep", async () => {
    const id = await storedPipe();
    await api.ledger.note(id, { "o:2026/05/a.json": { etag: "e", result: "loaded" } }, {});
    const resync = async (body: object) =>
      await api.call("PATCH", `${root}/${id}/state`, { body: { command: "resync", ...body } });
    const issues = async (body: object) => issuePaths((await resync(body)).body);
    expect(await issues({ objects: { key: "2026/05/a.json" } })).toEqual(["rows"]);
    expect(await issues({ objects: { key: "2026/05/a.json" }, rows: "truncate" })).toEqual(["rows"]);
    expect(await issues({ objects: { key: "2026/05/" }, rows: "keep" })).toEqual(["objects"]);
    expect(await issues({ objects: { prefix: "2026/06/" }, rows: "keep" })).toEqual(["objects"]);
    expect(await issues({ tables: ["public.t"], rows: "keep" })).toEqual(["tables"]);
    expect((await resync({ objects: { prefix: "2026/05/" }, rows: "keep" })).status).toBe(200);
    expect((await resync({ objects: { key: "2026/05/a.json" }, rows: "keep" })).status).toBe(200);
    expect(await api.pipes.find(id)).toMatchObject({
      resyncRequested: false,
      resyncObjects: [{ prefix: "2026/05/" }, { key: "2026/05/a.json" }],
    });
    await api.pipes.startPartsOver(id, sourceKinds.objectStorage);
    expect((await api.pipes.find(id))?.resyncObjects).toEqual([]);
    expect(await api.pipes.marksFrom(id, "")).toEqual({
      "o:2026/05/a.json": { etag: "e", result: "again", again: 2 },
      again: { prefixes: ["2026/05/", "2026/05/a.json"] },
    });
    // What is not done yet stays on the list; once it is, the next request replaces the list.
    const next = async (body: object) => {
      await resync({ ...body, rows: "keep" });
      await api.pipes.startPartsOver(id, sourceKinds.objectStorage);
      return (await api.pipes.marksFrom(id, "again")).again;
    };
    expect(await next({ objects: { prefix: "2026/" } })).toEqual({
      prefixes: ["2026/05/", "2026/05/a.json", "2026/"],
    });
    await api.ledger.note(id, { "o:2026/05/a.json": { etag: "e", result: "loaded", again: 3 } }, {});
    expect(await next({ objects: { prefix: "2026/" } })).toEqual({ prefixes: ["2026/"] });
  });

  test("resync of one table: by its name at the source, and shown at once", async () => {
    const table = (name: string) => ({ sourceSchemaName: "public", sourceTable: name, targetTable: `to_${name}` });
    const source = (settings: object) => ({
      relationalDb: { host: "h", database: "d", settings, tableMappings: [table("a"), table("b")] },
    });
    const pipe = { serviceId, name: "Tables", sourceKind: "relationalDb", roles: [], fieldMappings: [], secrets: {} };
    const rest = { destination: {}, scaling: {}, settings: {} };
    const create = (settings: object) => api.pipes.create({ ...pipe, ...rest, source: source(settings) }, limits.pipes);
    const id = await create({});
    const stopped = { stopped: "a row does not fit", stoppedAt: "2026-05-01T00:00:00.000Z", copied: "0/1" };
    await api.ledger.note(id, { "table:to_a": { ...stopped, remedy: "Mend it." }, "table:to_b": stopped }, {});
    const shown = async () => (await api.call("GET", `${root}/${id}`)).body.result;
    const tables = async () => (await shown()).tables;
    const why = { state: "Stopped", reason: "a row does not fit", stoppedAt: "2026-05-01T00:00:00.000Z" };
    expect(await tables()).toMatchObject([
      { sourceTable: "public.a", ...why, remedy: "Mend it." },
      { sourceTable: "public.b", ...why },
    ]);
    expect((await shown()).needsResync).toEqual({ tables: ["public.a", "public.b"] });
    const resync = async (of: string, body: object) =>
      (await api.call("PATCH", `${root}/${of}/state`, { body: { command: "resync", ...body } })).body;
    expect(issuePaths(await resync(id, { tables: ["public.a", "public.x"] }))).toEqual(["tables.1"]);
    expect(issuePaths(await resync(id, { tables: ["public.a"], rows: "keep" }))).toEqual(["rows"]);
    expect(issuePaths(await resync(id, { objects: { key: "k" } }))).toEqual(["objects"]);
    const followed = await create({ replicationMode: "cdc_only" });
    expect(issuePaths(await resync(followed, { tables: ["public.a"] }))).toEqual(["tables"]);
    await resync(id, { tables: ["public.a"] });
    expect((await tables())[0]).toEqual({ targetTable: "to_a", sourceTable: "public.a", state: "Setup", rows: 0 });
    expect((await shown()).needsResync).toEqual({ tables: ["public.b"] });
    await api.ledger.note(id, { lost: true }, {});
    expect((await shown()).needsResync).toEqual({});
    await api.pipes.startPartsOver(id, sourceKinds.relationalDb);
    expect(await api.pipes.find(id)).toMatchObject({ resyncRequested: false, resyncTables: [] });
    expect(await tables()).toMatchObject([{ state: "Setup" }, { sourceTable: "public.b", ...why }]);
  });

  test("commands and changes answer with the state they lead to, and never with that of the old worker", async () => {
    const id = await storedPipe();
    const shown = async (answer: Promise<{ body: { result: { state: string } } }>) => (await answer).body.result.state;
    const command = (name: string) => shown(api.call("PATCH", `${root}/${id}/state`, { body: { command: name } }));
    const observe = async (state: "Running" | "Stopped" | "Failed", reason: string | null = null) =>
      await api.pipes.setState(id, state, reason, (await api.pipes.find(id))?.generation ?? 0);
    const get = () => shown(api.call("GET", `${root}/${id}`));
    expect(await get()).toBe("Provisioning");
    await observe("Running");
    expect(await get()).toBe("Running");
    const { generation = 0 } = (await api.pipes.find(id)) ?? {};
    expect(await command("stop")).toBe("Stopping");
    // What an old worker reports belongs to the former generation.
    await api.pipes.setState(id, "Running", null, generation);
    expect(await get()).toBe("Stopping");
    await observe("Stopped");
    expect(await get()).toBe("Stopped");
    expect(await command("start")).toBe("Provisioning");
    await observe("Running");
    const settings = { object_storage_concurrency: 3 };
    expect(await shown(api.call("PATCH", `${root}/${id}`, { body: { settings } }))).toBe("Modifying");
    await observe("Failed", "broken");
    expect(await shown(api.call("PATCH", `${root}/${id}/scaling`, { body: { concurrency: 2 } }))).toBe("Provisioning");
    const [listed] = (await api.call("GET", root)).body.result.filter((pipe: { id: string }) => pipe.id === id);
    expect([listed.state, listed.lastError]).toEqual(["Provisioning", undefined]);
    expect(await command("stop")).toBe("Stopped");
  });

  test("a rename leaves the definition, its workers and an outcome as they are", async () => {
    const id = await storedPipe();
    await api.pipes.setState(id, "Failed", "broken", 1);
    const before = await api.pipes.find(id);
    const { body } = await api.call("PATCH", `${root}/${id}`, { body: { name: "Other" } });
    expect(body.result).toMatchObject({ name: "Other", state: "Failed" });
    const after = await api.pipes.find(id);
    expect([after?.generation, after?.version]).toEqual([before?.generation, (before?.version ?? 0) + 1]);
  });

  test("scaling is checked and merged; a deleted pipe is not found", async () => {
    const id = await storedPipe();
    const scale = (body: object) => api.call("PATCH", `${root}/${id}/scaling`, { body });
    await scale({ replicas: 1, replicaMemoryGb: 0.5 });
    expect((await scale({ concurrency: 4 })).body.result.scaling).toEqual({
      ...{ replicas: 1, replicaMemoryGb: 0.5, concurrency: 4 },
    });
    expect((await scale({})).status).toBe(400);
    expect((await api.call("DELETE", `${root}/${id}`)).status).toBe(200);
    expect((await api.call("GET", `${root}/${id}`)).status).toBe(404);
    expect((await api.call("DELETE", `${root}/${id}`)).status).toBe(404);
  });

  test("secrets that were sealed with another key hold up no other change, and are kept", async () => {
    const id = await storedPipe();
    const stranger = new Sealer(randomBytes(32)).seal({ accessKey: { accessKeyId: "A", secretKey: "lost" } }, id);
    await api.db.run("UPDATE pipes SET source_secrets = ? WHERE id = ?", stranger, id);
    const patch = (body: object) => api.call("PATCH", `${root}/${id}`, { body });
    expect((await patch({ name: "Renamed" })).body.result).toMatchObject({ name: "Renamed" });
    expect((await patch({ settings: { object_storage_concurrency: 7 } })).status).toBe(200);
    const same = await patch({ source: { objectStorage: { authentication: "IAM_USER" } } });
    expect(same.status).toBe(200);
    const refused = await patch({ source: { objectStorage: { url: "https://h/other/*" } } });
    expect(issuePaths(refused.body)).toEqual(["source.objectStorage.url"]);
    const row = await api.db.get<{ source_secrets: string }>("SELECT source_secrets FROM pipes WHERE id = ?", id);
    expect(row?.source_secrets).toBe(stranger);
    expect((await api.call("DELETE", `${root}/${id}`)).body.result).toEqual({ leftovers: [] });
  });

  test("nothing is sealed where nothing is secret, and what was sealed empty before is empty with any key", async () => {
    const id = await storedPipe();
    await api.pipes.change(id, { secrets: {} });
    const row = await api.db.get<{ source_secrets: string }>("SELECT source_secrets FROM pipes WHERE id = ?", id);
    expect(row?.source_secrets).toBeNull();
    const stranger = new Sealer(randomBytes(32)).seal({}, id);
    await api.db.run("UPDATE pipes SET source_secrets = ? WHERE id = ?", stranger, id);
    expect(await api.pipes.secrets(id)).toEqual({});
  });

  test("leftovers are listed to their organization, named by a deletion, and given up by developers alone", async () => {
    const id = await storedPipe();
    const pipe = { id, serviceId, name: "Events", sourceKind: "relationalDb" };
    await api.leftovers.record(pipe, [{ kind: "slot", name: "millrace_x" }], { credentials: { password: "hidden" } });
    const list = async () => (await api.call("GET", "/v1/organizations/{o}/leftovers")).body.result;
    expect(await list()).toEqual([]);
    const deleted = await api.call("DELETE", `${root}/${id}`);
    expect(deleted.body.result).toEqual({ leftovers: [{ kind: "slot", name: "millrace_x" }] });
    await api.pipes.remove(id);
    const [left] = await list();
    expect(left).toMatchObject({ kind: "slot", name: "millrace_x", pipeId: id, pipeName: "Events", attempts: 0 });
    expect(JSON.stringify(left)).not.toContain("hidden");
    const owner = { organizationId: api.organizationId, name: "r", expireAt: null };
    const reader = await api.credentials.createKey({ ...owner, role: "read_only", state: "enabled" });
    const path = `/v1/organizations/{o}/leftovers/${left.id}`;
    expect((await api.call("DELETE", path, { auth: basic(reader.key.keyId, reader.secret) })).status).toBe(403);
    expect((await api.call("DELETE", path)).status).toBe(200);
    expect((await api.call("DELETE", path)).status).toBe(404);
    expect(await list()).toEqual([]);
    const trail = async () =>
      (await api.call("GET", "/v1/organizations/{o}/auditEvents?type=leftover_given_up")).body.result;
    await vi.waitFor(async () => expect((await trail())[0]?.details).toBe("slot millrace_x of pipe Events"), 60_000);
    expect((await trail())[0]).toMatchObject({ actorType: "api_key", actorIpAddress: "127.0.0.1" });
  });

  test("secrets are sealed at rest", async () => {
    const id = await storedPipe();
    const sealed = async () =>
      (await api.db.get<{ source_secrets: string }>("SELECT source_secrets FROM pipes WHERE id = ?", id))
        ?.source_secrets ?? "";
    const isSealed = async (secret: string) => {
      const stored = await sealed();
      expect(stored).not.toBe("");
      const read = Buffer.from(stored.replace(/^v1\./, ""), "base64url").toString("latin1");
      expect(stored + read).not.toContain(secret);
    };
    await isSealed("very-secret");
    await api.pipes.change(id, { secrets: { accessKey: { accessKeyId: "AKIA", secretKey: "changed-secret" } } });
    await isSealed("changed-secret");
    // Nor in any file of the database, including its log.
    const files = readdirSync(api.dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(isOnPostgres() ? -1 : 1);
    for (const { parentPath, name } of files) {
      expect(readFileSync(join(parentPath, name)).toString("latin1"), name).not.toMatch(/(very|changed)-secret/);
    }
    expect(await api.pipes.secrets(id)).toEqual({ accessKey: { accessKeyId: "AKIA", secretKey: "changed-secret" } });
  });
});
