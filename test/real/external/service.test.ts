/** Services whose server is a ClickHouse server of its own: connection, states, endpoint, lists. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { freePort } from "../../../harness/network/free-port.ts";
import { loopbackCertificate } from "../../../harness/network/loopback-certificate.ts";
import { type TlsFront, tlsFront } from "../../../harness/network/tls-front.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const small = { name: "small", password: "secret-of-small", grants: ["SELECT ON app.*"] };
let server: TestServer;
let served: Served;
let front: TlsFront;
let service: BenchService;

const connection = () => ({
  urls: [server.url],
  username: serverUser.name,
  password: serverUser.password,
  database: "app",
});
const create = (changes: object) =>
  served.api.createService({
    params: { organizationId: served.credentials.organizationId },
    body: { name: "x", runtime: "external", connection: { ...connection(), ...changes } },
  });
const details = () => served.api.getService({ params: service.params });
const untilState = (state: string) => until(`the service is ${state}`, async () => (await details()).state === state);

beforeAll(async () => {
  [server, served] = await Promise.all([TestServer.start({ users: [serverUser, small] }), serve()]);
  await server.client.command("CREATE DATABASE app");
  await server.client.command("CREATE TABLE app.t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await server.client.command("INSERT INTO app.t SELECT number FROM numbers(10)");
  front = await tlsFront(() => server.ports.http);
  service = await runningService(served, { runtime: "external", connection: connection() });
});

afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await front?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

describe("the connection of a new service", () => {
  const refused = async (changes: object, path: string, message: RegExp) => {
    const failure = await create(changes).then(
      () => undefined,
      (error: Error & { issues?: { path: string; message: string }[] }) => error,
    );
    expect(failure?.message).toMatch(message);
    expect(JSON.stringify(failure)).not.toContain(serverUser.password);
    expect(failure?.message).toContain(path);
  };

  test("a wrong password, an unknown user and missing rights are named, with the statement that helps", async () => {
    await refused({ password: "wrong" }, "connection.password", /refuses the user owner/);
    await refused({ username: "nobody" }, "connection.password", /refuses the user nobody/);
    const grant = /run: GRANT SHOW, SELECT, INSERT, .* ON `app`\.\* TO `small`/;
    await refused({ username: small.name, password: small.password }, "connection.username", grant);
  });

  test("a host that does not exist, a closed port and something that is not a ClickHouse server are told apart", async () => {
    await refused({ urls: ["http://nowhere.invalid:8123"] }, "connection.urls[0]", /DNS does not know nowhere.invalid/);
    await refused({ urls: [`http://127.0.0.1:${await freePort()}`] }, "connection.urls[0]", /nothing listens/);
    const api = new URL(served.credentials.baseUrl);
    await refused({ urls: [`http://127.0.0.1:${api.port}`] }, "connection.urls[0]", /is this server itself/);
    await refused({ urls: [server.url, `http://127.0.0.1:${server.ports.tcp}`] }, "connection.urls[1]", /127\.0\.0\.1/);
  });

  test("a missing database and an unknown cluster are named", async () => {
    await refused({ database: "missing" }, "connection.database", /has no database missing; create it/);
    await refused({ cluster: "two" }, "connection.cluster", /knows no cluster two/);
  });

  test("TLS needs a trusted certificate, and a server without TLS is told", async () => {
    const urls = [`https://127.0.0.1:${front.port}`];
    await refused({ urls }, "connection.urls[0]", /TLS to .* fails/);
    await refused({ urls: [server.url.replace("http:", "https:")] }, "connection.urls[0]", /does not speak TLS/);
    const tls = { caCertificate: loopbackCertificate.cert };
    const secure = await runningService(served, { runtime: "external", connection: { ...connection(), urls, tls } });
    expect(await query(secure, "SELECT sum(a) FROM t")).toBe("45");
    await served.api.updateServiceState({ params: secure.params, body: { command: "stop" } });
  });
});

describe("an external service", () => {
  test("shows its connection without the password, its version and both endpoints", async () => {
    const shown = await details();
    expect(shown).toMatchObject({
      ...{ runtime: "external", state: "running", idleScaling: false, databaseVersion: expect.stringMatching(/^26\./) },
      connection: { urls: [server.url], username: "owner", database: "app" },
      endpoints: [{ username: "default" }, { host: "127.0.0.1", port: server.ports.http, username: "owner" }],
    });
    expect(JSON.stringify(shown)).not.toContain("password");
  });

  test("passes its own users through, and read-only ones only read", async () => {
    expect(await query(service, "SELECT sum(a) FROM t")).toBe("45");
    await query(service, "CREATE TABLE made (a UInt8) ENGINE = Memory");
    const { user, password } = await served.api.createServiceUser({
      params: service.params,
      body: { name: "reader", readonly: true },
    });
    const send = (init: RequestInit, parameters = "") =>
      fetch(`http://${service.host}:${service.port}/?${parameters}`, {
        method: "POST",
        ...init,
        headers: { "X-ClickHouse-User": user.name, "X-ClickHouse-Key": password },
      });
    const read = async () => (await send({ body: "SELECT sum(a) FROM t" })).text();
    await until("the user is known", async () => (await read()).trim() === "45");
    const write = "INSERT INTO made VALUES (1)";
    expect((await send({ body: write })).status).toBe(500);
    expect((await send({ body: write }, "readonly=0")).status).toBe(500);
    expect((await send({ body: `${write} SETTINGS readonly = 0` })).status).not.toBe(200);
    const form = new FormData();
    form.set("query", write);
    form.set("readonly", "0");
    expect(await (await send({ body: form })).text()).toMatch(/cannot send forms/);
    expect(await query(service, "SELECT count() FROM made")).toBe("0");
  });

  test("answers statements, tables, queries and numbers of the API", async () => {
    const { params } = service;
    const answer = await fetch(
      `${served.credentials.baseUrl}/v1/organizations/${params.organizationId}/services/${params.serviceId}/query`,
      {
        method: "POST",
        headers: {
          authorization: `Basic ${btoa(`${served.credentials.keyId}:${served.credentials.keySecret}`)}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ query: "SELECT count() AS n FROM t", format: "JSONEachRow" }),
      },
    );
    expect(await answer.text()).toContain('"n":');
    const { tables } = await served.api.listTables({ params, query: {} });
    expect(tables.map(({ name }) => name)).toContain("t");
    await until(
      "the log has queries",
      async () => (await served.api.listQueries({ params, query: {} })).recent.length > 0,
    );
    await until("the disk use is known", async () => ((await details()).diskUsedBytes ?? 0) > 0);
    expect((await details()).rows).toBeGreaterThanOrEqual(10);
  });

  test("does not become idle, and has no size, quota or filling of ours", async () => {
    const { params } = service;
    await expect(served.api.updateServiceScaling({ params, body: { idleScaling: true } })).rejects.toThrow(
      /idleScaling: must be false: Millrace cannot start and stop/,
    );
    await expect(served.api.updateServiceScaling({ params, body: { maxReplicaMemoryGb: 8 } })).rejects.toThrow(
      /own size/,
    );
    await expect(served.api.updateService({ params, body: { diskGb: 1 } })).rejects.toThrow(/own disk/);
  });

  test("stop closes our endpoint and leaves the server alone; start opens it again", async () => {
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await untilState("stopped");
    expect((await details()).stateMessage).toMatch(/not ours and goes on/);
    await until("the endpoint is closed", () =>
      query(service, "SELECT 1").then(
        () => false,
        () => true,
      ),
    );
    expect((await server.client.text("SELECT sum(a) FROM app.t")).trim()).toBe("45");
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await untilState("running");
    await until("the endpoint is open", () =>
      query(service, "SELECT 1").then(
        () => true,
        () => false,
      ),
    );
  });

  test("is degraded with the reason while its server is away, and comes back by itself", async () => {
    await server.kill();
    await untilState("degraded");
    expect((await details()).stateMessage).toMatch(/nothing listens at http:\/\/127\.0\.0\.1/);
    await server.restart();
    await untilState("running");
    expect(await query(service, "SELECT sum(a) FROM t")).toBe("45");
  });

  test("a changed connection is tried first, and then used", async () => {
    const { params } = service;
    const change = (body: object) => served.api.updateService({ params, body: { connection: body } });
    await expect(change({ password: "wrong" })).rejects.toThrow(/refuses the user owner/);
    expect((await details()).state).toBe("running");
    const moved = { urls: [`https://127.0.0.1:${front.port}`], tls: { caCertificate: loopbackCertificate.cert } };
    // The stored one is for the server that it was given for.
    await expect(change(moved)).rejects.toThrow(/connection\.password.* must be given again/);
    const shown = await change({ ...moved, password: serverUser.password });
    expect(shown.connection?.database).toBe("app");
    await until("the new URL is used", async () => (await details()).endpoints[1]?.port === front.port);
    await untilState("running");
    expect(await query(service, "SELECT sum(a) FROM t")).toBe("45");
  });

  test("a password that changed on the server is named, and a new one in the connection ends the trouble", async () => {
    const { params } = service;
    const changed = { name: "rotated", password: "second" };
    const before = { ...changed, password: "first" };
    await server.restart([before]);
    const change = (body: object) => served.api.updateService({ params, body: { connection: body } });
    await untilState("running");
    await change({ username: before.name, password: before.password });
    await untilState("running");
    await server.restart([changed]);
    await untilState("degraded");
    await until("the reason is named", async () =>
      /refuses the user rotated/.test((await details()).stateMessage ?? ""),
    );
    expect((await details()).stateMessage).not.toContain("first");
    await change({ password: changed.password });
    await untilState("running");
    expect(await query(service, "SELECT sum(a) FROM t")).toBe("45");
  });

  test("deleting it leaves the server's data", async () => {
    const { params } = service;
    await served.api.updateServiceState({ params, body: { command: "stop" } });
    await untilState("stopped");
    await served.api.deleteService({ params });
    await until("it is gone", () =>
      details().then(
        () => false,
        () => true,
      ),
    );
    expect((await server.client.text("SELECT sum(a) FROM app.t")).trim()).toBe("45");
  });
});
