/** External services in the API: what is stored and shown, what is refused. The server's side is in test/real. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runInside } from "../../harness/cli.ts";
import { limits } from "../../harness/limits.ts";
import { AppError } from "../../src/lib/errors.ts";
import type { ServiceConnection } from "../../src/store/services/service-connections.ts";
import { type Api, startApi } from "./harness.ts";

const services = "/v1/organizations/{o}/services";
const password = "open-sesame";
const connection = { urls: ["https://ch.example.com", "http://[fd00::1]:80"], username: "owner", password };
const body = { name: "s", runtime: "external", connection };

/** What was tried, in order. */
let tried: { connection: ServiceConnection; password: string }[] = [];
let problem: AppError | undefined;
let api: Api;
beforeAll(async () => {
  api = await startApi({
    limits: { ...limits, memoryGb: { most: 0, setting: "--organization-memory-gb" } },
    defaultDiskGb: 7,
    inspectConnection: async (given, secret) => {
      tried.push({ connection: given, password: secret });
      if (problem !== undefined) throw problem;
    },
  });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  tried = [];
  problem = undefined;
});

const create = async (more: object = {}) => await api.call("POST", services, { body: { ...body, ...more } });

test("the record shows the connection and both endpoints; the password is in no response", async () => {
  const answer = await create();
  const { service } = answer.body.result;
  expect(service).toMatchObject({
    ...{ runtime: "external", idleScaling: false, maxReplicaMemoryGb: 0, databaseVersion: "" },
    connection: { urls: connection.urls, username: "owner" },
    endpoints: [
      { username: "default" },
      { protocol: "https", host: "ch.example.com", port: 8443, username: "owner" },
      { protocol: "http", host: "fd00::1", port: 80, username: "owner" },
    ],
  });
  // A limit of memory of this machine does not concern it, nor does its disk.
  expect(service.diskGb).toBeUndefined();
  for (const path of [`${services}/${service.id}`, services, "/v1/organizations/{o}/activities"]) {
    expect((await api.call("GET", path)).text).not.toContain(password);
  }
  expect(answer.text).not.toContain(password);
});

test("a server that cannot be used creates nothing, and the issues name the members", async () => {
  const before = (await api.call("GET", services)).body.result.length;
  const issues = [{ path: "connection.urls[0]", message: "nothing listens" }];
  problem = new AppError("CONNECTION_UNREACHABLE", "connection.urls[0]: nothing listens.", { issues });
  const answer = await create();
  expect(answer).toMatchObject({ status: 400, body: { code: "CONNECTION_UNREACHABLE", issues } });
  expect((await api.call("GET", services)).body.result).toHaveLength(before);
});

test.each([
  [{ connection: undefined }, "connection", /required/],
  [{ runtime: "embedded" }, "connection", /requires runtime external/],
  [{ idleScaling: true }, "idleScaling", /cannot start and stop/],
  [{ maxReplicaMemoryGb: 8 }, "maxReplicaMemoryGb", /own size/],
  [{ diskGb: 8 }, "diskGb", /own disk/],
  [{ connection: { ...connection, urls: ["ch.example.com"] } }, "connection.urls.0", /must be a URL such as/],
  [{ connection: { ...connection, urls: ["https://u:p@ch.example.com"] } }, "connection.urls.0", /use username/],
  [{ connection: { ...connection, urls: ["https://ch.example.com/x"] } }, "connection.urls.0", /after host and port/],
  [{ connection: { ...connection, urls: [] } }, "connection.urls", /./],
  [{ connection: { ...connection, username: "a:b" } }, "connection.username", /colon/],
  [{ connection: { ...connection, tls: { caCertificate: "x" } } }, "connection.tls.caCertificate", /PEM/],
])("%j is refused, naming the member", async (more, path, message) => {
  const answer = await create(more);
  expect(answer.status).toBe(400);
  const issue = answer.body.issues.find((one: { path: string }) => one.path === path);
  expect(issue?.message).toMatch(message);
  expect(answer.text).not.toContain(password);
});

test("a change names what changes, is tried with the rest, and null removes a member", async () => {
  const { id } = (await create({ connection: { ...connection, database: "app", cluster: "two" } })).body.result.service;
  const path = `${services}/${id}`;
  const change = async (given: object) => await api.call("PATCH", path, { body: { connection: given } });
  const answer = await change({ username: "other", cluster: null });
  expect(answer.body.result.connection).toEqual({ urls: connection.urls, username: "other", database: "app" });
  expect(tried.at(-1)).toEqual({ connection: answer.body.result.connection, password });
  await change({ password: "new-secret" });
  const stored = await api.services.find(id);
  expect(stored && api.connectionPasswords.open(stored)).toBe("new-secret");
  const elsewhere = { urls: [...connection.urls, "https://evil.example:8443"] };
  const before = tried.length;
  expect((await change(elsewhere)).body).toMatchObject({ status: 400, issues: [{ path: "connection.password" }] });
  expect(tried).toHaveLength(before);
  expect((await change({ ...elsewhere, password: "new-secret" })).status).toBe(200);
  expect((await change({ urls: connection.urls })).status).toBe(200);
  problem = new AppError("CONNECTION_UNAUTHORIZED", "connection.password: wrong.");
  expect((await change({ password: "wrong" })).body.code).toBe("CONNECTION_UNAUTHORIZED");
  const kept = await api.services.find(id);
  expect(kept && api.connectionPasswords.open(kept)).toBe("new-secret");
  const embedded = (await api.call("POST", services, { body: { name: "e" } })).body;
  expect(embedded.code).toBe("LIMIT_REACHED");
});

test("backups are refused without a bucket, which the server could write, in one sentence that says what to do", async () => {
  const { id } = (await create()).body.result.service;
  await api.services.setState(id, "running", null);
  for (const [method, path, given] of [
    ["POST", `${services}/${id}/backups`, undefined],
    ["PATCH", `${services}/${id}/backupConfiguration`, { backupPeriodInHours: 24 }],
  ] as const) {
    const answer = await api.call(method, path, given === undefined ? {} : { body: given });
    expect(answer.status, path).toBe(400);
    expect(answer.body.error).toMatch(/does not reach .* Start Millrace with --backup-bucket/);
  }
});

test("the command line creates one with the password of a file, shows it, and changes its password", async () => {
  const url = await api.server.listen({ host: "127.0.0.1", port: 0 });
  writeFileSync(join(api.dataDir, "server-password"), `${password}\n`);
  writeFileSync(join(api.dataDir, "next-password"), "next\n");
  const run = async (line: string) => {
    const env = { MILLRACE_URL: url, MILLRACE_KEY: `${api.keyId}:${api.keySecret}` };
    return await runInside(line.split(" "), { cwd: api.dataDir, home: api.dataDir, env });
  };
  const flags = "--external https://a:8443 --external https://b:8443 --user owner --password-file server-password";
  const made = await run(`service create warehouse ${flags} --database app --cluster two`);
  expect(made.stderr).toContain("created warehouse");
  expect(tried.at(-1)).toEqual({
    connection: { urls: ["https://a:8443", "https://b:8443"], username: "owner", database: "app", cluster: "two" },
    password,
  });
  const shown = await run("service get warehouse");
  expect(shown.stdout).toMatch(/server\s+https:\/\/a:8443, https:\/\/b:8443/);
  expect(shown.stdout).not.toContain(password);
  await run("service update warehouse --password-file next-password");
  expect(tried.at(-1)?.password).toBe("next");
  expect((await run("service create x --external https://a:8443 --user owner")).stderr).toMatch(/--password-file/);
  expect((await run("service create x --user owner")).stderr).toMatch(/require --external/);
});

test("shards share no reading: the settings of a pipe into a cluster cannot ask for it, then or later", async () => {
  const path = "settings.database_parallel_distributed_insert_select";
  const pipe = {
    ...{ name: "Events", sourceKind: "objectStorage", roles: ["writer"], fieldMappings: [], secrets: {} },
    source: { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json", authentication: "PUBLIC" } },
    ...{ destination: { table: "events" }, scaling: {}, settings: {} },
  } as const;
  for (const [cluster, status] of [
    ["two", 400],
    [undefined, 200],
  ] as const) {
    const { id: serviceId } = (await create({ connection: { ...connection, cluster } })).body.result.service;
    const id = await api.pipes.create({ ...pipe, serviceId }, limits.pipes);
    const body = { database_parallel_distributed_insert_select: 2 };
    const at = `${services}/${serviceId}/pipes/${id}`;
    const answers = [
      await api.call("PUT", `${at}/settings`, { body }),
      await api.call("PATCH", at, { body: { settings: body } }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(status);
      if (status === 400) expect(answer.body.issues).toMatchObject([{ path }]);
    }
  }
});
