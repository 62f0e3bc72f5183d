/** Changes that apply only to the version that the caller has seen. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { expectedVersions } from "../../src/http/caller/context.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** The path of an object and a valid body, for every operation that knows versions. */
type Change = {
  readonly object: "service" | "pipe" | "key" | "token";
  readonly below?: string;
  readonly body?: unknown;
};
const changes: Record<string, Change> = {
  updateService: { object: "service", body: { name: "new" } },
  updateServiceState: { object: "service", below: "/state", body: { command: "stop" } },
  updateServiceScaling: { object: "service", below: "/replicaScaling", body: { idleTimeoutMinutes: 10 } },
  deleteService: { object: "service" },
  updatePipe: { object: "pipe", body: { name: "new" } },
  updatePipeState: { object: "pipe", below: "/state", body: { command: "stop" } },
  updatePipeScaling: { object: "pipe", below: "/scaling", body: { replicas: 2 } },
  updatePipeSettings: { object: "pipe", below: "/settings", body: { database_max_threads: 2 } },
  deletePipe: { object: "pipe" },
  updateKey: { object: "key", body: { name: "new" } },
  deleteKey: { object: "key" },
  updateAccessToken: { object: "token", body: { name: "new" } },
  deleteAccessToken: { object: "token" },
};

const paths: Record<Change["object"], string> = { service: "", pipe: "", key: "", token: "" };
let token: string;
beforeEach(async () => {
  const organization = "/v1/organizations/{o}";
  const post = async (path: string, body: unknown) =>
    (await api.call("POST", `${organization}${path}`, { body })).body.result;
  const serviceId = (await post("/services", { name: "s" })).service.id;
  const tableMappings = [{ sourceSchemaName: "public", sourceTable: "t", targetTable: "t" }];
  const source = { relationalDb: { host: "h", database: "d", settings: { replicationMode: "cdc" }, tableMappings } };
  const definition = { sourceKind: "relationalDb", source, destination: {}, fieldMappings: [] };
  const secrets = { credentials: { username: "u", password: "p" } };
  const rest = { scaling: {}, settings: {}, secrets, roles: undefined };
  const pipeId = await api.pipes.create({ serviceId, name: "p", ...definition, ...rest }, limits.pipes);
  paths.service = `${organization}/services/${serviceId}`;
  paths.pipe = `${paths.service}/pipes/${pipeId}`;
  paths.key = `${organization}/keys/${(await post("/keys", { name: "k", roles: ["admin"] })).key.id}`;
  token = (await post("/accessTokens", { name: "t" })).token.id;
  paths.token = `${organization}/accessTokens/${token}`;
});

async function versionOf(object: Change["object"]): Promise<{ version: number; tag: string }> {
  if (object === "token") {
    const { result } = (await api.call("GET", "/v1/organizations/{o}/accessTokens")).body;
    const { version } = result.find(({ id }: { id: string }) => id === token);
    return { version, tag: `"${version}"` };
  }
  const { body, headers } = await api.call("GET", paths[object]);
  return { version: body.result.version, tag: headers.etag as string };
}

async function send(id: string, ifMatch: string) {
  const { object, below = "", body } = changes[id] as Change;
  const { method } = (managementOperations as Record<string, Operation>)[id] as Operation;
  return await api.call(method, `${paths[object]}${below}`, { body, headers: { "if-match": ifMatch } });
}

test("every change of services, pipes, keys and tokens knows versions", () => {
  const all = Object.entries(managementOperations as Record<string, Operation>);
  expect(
    all
      .filter(([, { versioned }]) => versioned)
      .map(([id]) => id)
      .sort(),
  ).toEqual(Object.keys(changes).sort());
  const own =
    /\/(services\/\{serviceId\}|pipes\/\{pipeId\}|keys\/\{keyId\}|accessTokens\/\{tokenId\}|sources\/\{id\})$/;
  for (const [id, { method, path, versioned }] of [
    ...all,
    ...Object.entries(observabilityOperations as Record<string, Operation>),
  ]) {
    if (["PATCH", "PUT", "DELETE"].includes(method) && own.test(path)) expect([id, versioned]).toEqual([id, true]);
  }
});

describe.each(Object.entries(changes))("%s", (id, { object }) => {
  test("with another version changes nothing, and answers 412 with both versions", async () => {
    const { version, tag } = await versionOf(object);
    for (const stale of [`"${version + 1}"`, `W/"${version - 1}.abc"`, '"digest-of-something-else"']) {
      const { status, body } = await send(id, stale);
      expect([status, body.code]).toEqual([412, "PRECONDITION_FAILED"]);
      expect(body.issues[0]).toEqual({ path: "version", message: String(version) });
    }
    expect(await versionOf(object)).toEqual({ version, tag });
  });

  test("with the present one, however it is written, is made", async () => {
    if (id === "deleteService") await api.services.setState(paths.service.split("/").at(-1) as string, "stopped", null);
    const { version, tag } = await versionOf(object);
    const { status, body } = await send(id, id.startsWith("update") ? `"0", ${tag}` : `${version}`);
    expect([status, body.error]).toEqual([200, undefined]);
    if (id.startsWith("update")) {
      expect((await versionOf(object)).version).toBeGreaterThan(version);
      expect((await send(id, tag)).status).toBe(412);
    }
  });
});

test("what Millrace itself writes is not a new version: states, batches, disk use", async () => {
  const [serviceId, pipeId] = [paths.service, paths.pipe].map((path) => path.split("/").at(-1) as string) as [
    string,
    string,
  ];
  const before = await Promise.all([versionOf("service"), versionOf("pipe")]);
  await api.services.setState(serviceId, "running", null);
  await api.services.setDiskUsed(serviceId, 5);
  await api.pipes.setState(pipeId, "Running", null, 1);
  await api.ledger.confirm(pipeId, { batchId: "b", lane: "l", marks: {}, counts: { sentRows: 1 } });
  const written = await Promise.all([versionOf("service"), versionOf("pipe")]);
  expect(written.map(({ version }) => version)).toEqual(before.map(({ version }) => version));
  expect(written[1]?.tag).not.toBe(before[1]?.tag);
  expect((await send("updateService", before[0]?.tag as string)).status).toBe(200);
  expect((await send("updatePipe", before[1]?.tag as string)).status).toBe(200);
});

test("of two changes at once of one version, one is made", async () => {
  const { tag } = await versionOf("pipe");
  const answers = await Promise.all(["updatePipe", "updatePipeScaling", "updatePipeState"].map((id) => send(id, tag)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
});

test("an operation whose object has no version refuses the condition instead of ignoring it", async () => {
  const call = await api.call("PATCH", "/v1/organizations/{o}", {
    body: { name: "x" },
    headers: { "if-match": '"1"' },
  });
  expect(call.status).toBe(400);
  expect((await api.call("GET", paths.pipe, { headers: { "if-match": '"9"' } })).status).toBe(200);
});

test("entity tags are read strictly: only versions count", () => {
  expect(expectedVersions(undefined)).toBeUndefined();
  expect(expectedVersions("*")).toBeUndefined();
  expect(expectedVersions('W/"7.abc-_9", "8", 9')).toEqual([7, 8, 9]);
  expect(expectedVersions('"7x", "", "-1", 1.5.2, abc')).toEqual([]);
});

describe("a change without members", () => {
  test.each(["service", "pipe", "key", "token"] as const)(
    "leaves the %s and its version as they are",
    async (object) => {
      const { version } = await versionOf(object);
      const change = (headers: Record<string, string>) => api.call("PATCH", paths[object], { body: {}, headers });
      expect((await change({})).status).toBe(200);
      expect((await change({ "if-match": `"${version + 1}"` })).status).toBe(412);
      expect((await versionOf(object)).version).toBe(version);
    },
  );

  test("leaves a saved object and its version as they are", async () => {
    const content = { query: "SELECT 1" };
    const { result } = (
      await api.call("POST", "/v1/organizations/{o}/savedObjects", { body: { kind: "query", name: "q", content } })
    ).body;
    const path = `/v1/organizations/{o}/savedObjects/${result.id}`;
    expect((await api.call("PATCH", path, { body: { version: 1 } })).body.result.version).toBe(1);
    expect((await api.call("PATCH", path, { body: { version: 2 } })).status).toBe(409);
  });
});
