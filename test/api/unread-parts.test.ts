/** What a request asks for and the server does not do is refused, and never left out without a word. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandLine, startCommandLine } from "./command-line.ts";

const organization = "/v1/organizations/{o}";
let line: CommandLine;
let service: string;
beforeAll(async () => {
  line = await startCommandLine();
  service = `${organization}/services/${await line.createService("analytics")}`;
});
afterAll(() => line[Symbol.asyncDispose]());

describe("a request", () => {
  const call: CommandLine["api"]["call"] = (...args) => line.api.call(...args);

  test("a body for an operation that reads none", async () => {
    const path = `${organization}/backups/rescan`;
    const refused = await call("POST", path, { body: { x: 1 } });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("takes no body")]);
    expect((await call("POST", path, { body: {} })).status).toBe(200);
    expect((await call("POST", path)).status).toBe(200);
  });

  test("a compressed body", async () => {
    const headers = { "content-encoding": "br" };
    const { status, body } = await call("PATCH", service, { body: { name: "b" }, headers });
    expect([status, body.error]).toEqual([415, expect.stringContaining("Content-Encoding br")]);
    expect((await call("GET", service)).body.result.name).toBe("analytics");
  });

  test("a parameter twice", async () => {
    const { status, body } = await call("GET", `${organization}/pipes?limit=1&limit=2`);
    expect([status, body.issues]).toEqual([400, [{ path: "limit", message: "is given more than once" }]]);
  });

  test("a condition that names no version", async () => {
    const headers = { "if-match": "garbage" };
    const { status, body } = await call("PATCH", service, { body: { name: "b" }, headers });
    expect([status, body.issues[1]]).toEqual([412, { path: "If-Match", message: "names no version" }]);
  });

  test("more entries of a list than a new service may have", async () => {
    const add = Array.from({ length: 50 }, (_, at) => ({ key: `k${at}` }));
    expect((await call("PATCH", service, { body: { tags: { add } } })).status).toBe(200);
    const more = await call("PATCH", service, { body: { tags: { add: [{ key: "k50" }] } } });
    expect([more.status, more.body.issues]).toEqual([
      400,
      [{ path: "tags.add", message: "makes 51 entries; a service has at most 50" }],
    ]);
    const exchange = { add: [{ key: "k50" }], remove: [{ key: "k0" }] };
    expect((await call("PATCH", service, { body: { tags: exchange } })).body.result.tags).toHaveLength(50);
  });

  test.each([
    [{ newDoubleSha1Hash: "0".repeat(40) }, "needs newPasswordHash: nobody logs in with it alone"],
    [{ newDoubleSha1Hash: "x" }, "must be hex(sha1(sha1(password)))"],
  ])("a password of another protocol alone: %j", async (body, message) => {
    const id = service.split("/").at(-1) as string;
    const hash = async () => (await line.api.services.listAllUsers()).find((one) => one.serviceId === id);
    const before = await hash();
    const refused = await call("PATCH", `${service}/password`, { body });
    expect(refused.status).toBe(400);
    expect(refused.body.issues).toContainEqual({ path: "newDoubleSha1Hash", message });
    expect(await hash()).toEqual(before);
  });
});

describe("a command", () => {
  test("runs on no other server than the one that MILLRACE_URL names", async () => {
    const key = join(line.folder, "key");
    writeFileSync(key, `${line.api.keyId}:${line.api.keySecret}`);
    const elsewhere = { MILLRACE_URL: "http://127.0.0.1:1", MILLRACE_KEY: undefined };
    const login = ["login", "here", "--url", line.url, "--key-file", key];
    expect((await line.run(login, { env: { MILLRACE_URL: undefined, MILLRACE_KEY: undefined } })).code).toBe(0);
    const refused = await line.run("service list", { env: elsewhere });
    expect(refused).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("is not for http://127.0.0.1:1"),
    });
    expect((await line.run("service list", { env: { ...elsewhere, MILLRACE_URL: line.url } })).code).toBe(0);
    expect((await line.run("service list --context here", { env: elsewhere })).code).toBe(0);
  });

  test.each(["export nosuch", "export pipe nosuch"])("%s finds nothing, and says so", async (words) => {
    expect(await line.run(words)).toMatchObject({
      code: 5,
      stdout: "",
      stderr: expect.stringContaining("no service nosuch"),
    });
    expect((await line.run("export analytics")).stdout).toContain("analytics");
  });
});
