/** Identity, and sessions of browsers: which requests a session's cookie admits, and when a session ends. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeyRole } from "../../src/api/keys.ts";
import { type Answer, type Api, basic, startApi } from "./harness.ts";

const own = { "sec-fetch-site": "same-origin" };
const change = { ...own, "x-millrace-console": "1", "content-type": "application/json" };
const keys = "/v1/organizations/{o}/keys";
const sessions = "/v1/organizations/{o}/sessions";
const links = "/v1/organizations/{o}/consoleLinks";
const login = "/console/session";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

async function makeKey(role: KeyRole) {
  const owner = { organizationId: api.organizationId, name: role, expireAt: null };
  return await api.credentials.createKey({ ...owner, role, state: "enabled" });
}

function cookieOf({ headers }: Answer): string {
  return String(headers["set-cookie"]).split(";")[0] as string;
}

async function signIn(role: KeyRole = "admin") {
  const { key, secret } = await makeKey(role);
  const body = { keyId: key.keyId, keySecret: secret };
  const answer = await api.call("POST", login, { auth: null, headers: change, body });
  expect(answer.status).toBe(200);
  return { key, secret, answer, cookie: cookieOf(answer) };
}

test("the caller learns its key, role, organization, address and the server's version", async () => {
  const { key, secret } = await makeKey("read_only");
  const { body } = await api.call("GET", "/v1/me", { auth: basic(key.keyId, secret) });
  expect(body.result).toEqual({
    key: { id: key.id, name: "read_only", role: "read_only" },
    organization: { id: api.organizationId, name: "Test" },
    version: "0.0.0",
    address: "127.0.0.1",
  });
});

describe("signing in", () => {
  test("with key id and secret: the cookie is for this server's pages alone, and is stored as a digest", async () => {
    const { answer, cookie, key } = await signIn("developer");
    expect(String(answer.headers["set-cookie"])).toMatch(
      /^millrace_session_8150=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.body.result).toMatchObject({
      key: { id: key.id, role: "developer" },
      session: { userAgent: "lightMyRequest" },
    });
    const value = cookie.split("=")[1] as string;
    expect(answer.text).not.toContain(value);
    const rows = await api.db.all("SELECT * FROM console_sessions");
    expect(JSON.stringify(rows)).not.toContain(value);
    const me = await api.call("GET", "/v1/me", { auth: null, headers: { ...own, cookie } });
    expect(me.body.result).toEqual(answer.body.result);
    const shown = await api.call("GET", login, { auth: null, headers: { ...own, cookie } });
    expect(shown.body.result).toEqual(answer.body.result);
  });

  test("with a link: once, as the key that made it", async () => {
    const { key, secret } = await makeKey("read_only");
    const made = await api.call("POST", links, { auth: basic(key.keyId, secret) });
    const [, token] = /^http:\/\/127\.0\.0\.1:8150\/console\/#login=([\w-]{43})$/.exec(
      made.body.result.url,
    ) as string[];
    const use = () => api.call("POST", login, { auth: null, headers: change, body: { token } });
    const answer = await use();
    expect(answer.body.result.key).toEqual({ id: key.id, name: "read_only", role: "read_only" });
    const again = await use();
    expect([again.status, again.body.code]).toEqual([401, "UNAUTHORIZED"]);
    expect(again.headers).not.toHaveProperty("set-cookie");
    const rows = await api.db.all("SELECT * FROM console_links");
    expect(rows).toEqual([]);
  });

  test("a link of a key that was disabled meanwhile is refused", async () => {
    const { key, secret } = await makeKey("admin");
    const { body } = await api.call("POST", links, { auth: basic(key.keyId, secret) });
    await api.credentials.changeKey(key.id, { state: "disabled" });
    const token = body.result.url.split("#login=")[1];
    expect((await api.call("POST", login, { auth: null, headers: change, body: { token } })).status).toBe(401);
  });

  test("a session cannot make links, so that it cannot outlive its end", async () => {
    const { cookie } = await signIn();
    const refused = await api.call("POST", links, { auth: null, headers: { ...change, cookie } });
    expect([refused.status, refused.body.error]).toEqual([403, expect.stringContaining("use the key itself")]);
  });

  test("failed logins count in the limiter of all logins", async () => {
    await using limited = await startApi({ loginFailureLimit: 2 });
    const wrong = [{ token: "x" }, { keyId: limited.keyId, keySecret: "x" }, { token: "y" }];
    const answers = [];
    for (const body of wrong) answers.push(await limited.call("POST", login, { auth: null, headers: change, body }));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429]);
    const right = { keyId: limited.keyId, keySecret: limited.keySecret };
    expect((await limited.call("POST", login, { auth: null, headers: change, body: right })).status).toBe(200);
  });

  test.each([
    ["nothing", undefined],
    ["no JSON", "{"],
    ["both ways at once", { token: "x", keyId: "x", keySecret: "x" }],
  ])("a body with %s is refused", async (_, body) => {
    const answer = await api.call("POST", login, { auth: null, headers: change, body });
    expect(answer.status).toBe(400);
  });
});

describe("which requests a session admits", () => {
  let cookie: string;
  beforeAll(async () => {
    ({ cookie } = await signIn());
  });
  const create = { name: "k", roles: ["read_only"] };
  const read = (headers: Record<string, string>) =>
    api.call("GET", keys, { auth: null, headers: { cookie, ...headers } });
  const write = (headers: Record<string, string>, body: unknown = create) =>
    api.call("POST", keys, { auth: null, headers: { cookie, ...headers }, body });
  const host = { host: "localhost:8150" };

  test.each<[string, Record<string, string>]>([
    ["this server's page", own],
    ["this server's page, over plain http from elsewhere", { ...host, origin: "http://localhost:8150" }],
    ["a reader without both headers, with our own", { "x-millrace-console": "1" }],
  ])("a read of %s", async (_, headers) => {
    expect((await read(headers)).status).toBe(200);
  });

  test.each<[string, Record<string, string>]>([
    ["another port of this host", { "sec-fetch-site": "same-site" }],
    ["another site", { "sec-fetch-site": "cross-site" }],
    [
      "another site that names our origin",
      { ...host, "sec-fetch-site": "cross-site", origin: "http://localhost:8150" },
    ],
    ["the address bar", { "sec-fetch-site": "none" }],
    ["another port, in a browser without Sec-Fetch-Site", { ...host, origin: "http://localhost:3000" }],
    ["another scheme", { ...host, origin: "https://localhost:8150" }],
    ["a frame without an origin", { ...host, origin: "null", "x-millrace-console": "1" }],
    ["an unknown sender", {}],
  ])("not one of %s", async (_, headers) => {
    const answer = await read(headers);
    expect([answer.status, answer.body.code]).toEqual([403, "FORBIDDEN"]);
    const page = await api.call("GET", login, { auth: null, headers: { cookie, ...headers } });
    expect(page.status).toBe(403);
    const changes = await write({ ...change, "sec-fetch-site": "cross-site", ...headers });
    expect(changes.status).toBe(403);
  });

  test("a change needs the console's header and JSON", async () => {
    expect((await write(change)).status).toBe(200);
    expect((await write({ ...own, "content-type": "application/json" })).status).toBe(403);
    expect((await write({ ...change, "x-millrace-console": "0" })).status).toBe(403);
    expect((await write({ ...change, "content-type": "text/plain" }, "{}")).status).toBe(415);
    const signingIn = { keyId: api.keyId, keySecret: api.keySecret };
    const forged = { ...own, "content-type": "application/json" };
    expect((await api.call("POST", login, { auth: null, headers: forged, body: signingIn })).status).toBe(403);
  });

  test("a change without a body", async () => {
    const made = await write(change);
    const path = `${keys}/${made.body.result.key.id}`;
    const { "content-type": _, ...untyped } = change;
    expect((await api.call("DELETE", path, { auth: null, headers: { cookie, ...untyped } })).status).toBe(415);
    expect((await api.call("DELETE", path, { auth: null, headers: { cookie, ...change } })).status).toBe(200);
  });

  test("credentials in the request come first", async () => {
    const { key, secret } = await makeKey("read_only");
    const auth = basic(key.keyId, secret);
    const me = await api.call("GET", "/v1/me", { auth, headers: { ...own, cookie } });
    expect(me.body.result.key.role).toBe("read_only");
    expect((await api.call("GET", "/v1/me", { auth: "Basic eDp5", headers: { ...own, cookie } })).status).toBe(401);
  });

  test("the cookie of another server on this host admits nothing", async () => {
    const other = cookie.replace("8150", "8151");
    expect((await api.call("GET", keys, { auth: null, headers: { ...own, cookie: other } })).status).toBe(401);
    const both = await api.call("GET", keys, { auth: null, headers: { ...own, cookie: `${other}; a=b; ${cookie}` } });
    expect(both.status).toBe(200);
  });

  test("a refusal never makes the browser ask for a password", async () => {
    const ended = { cookie: "millrace_session_8150=unknown" };
    for (const headers of [{ ...own, ...ended }, own, { "x-millrace-console": "1" }]) {
      const { status, headers: answered } = await api.call("GET", keys, { auth: null, headers });
      expect([status, answered["www-authenticate"]]).toEqual([401, undefined]);
    }
    const tool = await api.call("GET", keys, { auth: null });
    expect(tool.headers["www-authenticate"]).toContain("Basic");
  });
});

describe("a session acts as its key", () => {
  test("in both APIs", async () => {
    const { cookie } = await signIn("read_only");
    const path = "/api/v2/sources";
    const listed = await api.call("GET", path, { auth: null, headers: { ...own, cookie } });
    expect([listed.status, listed.body]).toEqual([200, { data: [] }]);
    expect((await api.call("GET", path, { auth: null, headers: { cookie } })).status).toBe(403);
    const refused = await api.call("POST", path, { auth: null, headers: { ...change, cookie }, body: {} });
    expect([refused.status, refused.body.code]).toEqual([403, "FORBIDDEN"]);
    const ended = await api.call("GET", path, { auth: null, headers: { ...own, cookie: `${cookie}x` } });
    expect([ended.status, ended.headers["www-authenticate"]]).toEqual([401, undefined]);
  });

  test("with the role that the key has now", async () => {
    const { key, cookie } = await signIn("developer");
    const list = () => api.call("GET", keys, { auth: null, headers: { ...own, cookie } });
    expect((await list()).status).toBe(403);
    await api.credentials.changeKey(key.id, { role: "admin" });
    expect((await list()).status).toBe(200);
    await api.credentials.changeKey(key.id, { role: "read_only" });
    expect((await list()).status).toBe(403);
  });

  test.each<[string, (id: string) => Promise<void>]>([
    ["disabled", (id) => api.credentials.changeKey(id, { state: "disabled" })],
    ["expired", (id) => api.credentials.changeKey(id, { expireAt: new Date(Date.now() - 1).toISOString() })],
    ["deleted", (id) => api.credentials.deleteKey(id)],
  ])("until the key is %s", async (_, end) => {
    const { key, cookie } = await signIn();
    const headers = { ...own, cookie };
    expect((await api.call("GET", keys, { auth: null, headers })).status).toBe(200);
    await end(key.id);
    expect((await api.call("GET", keys, { auth: null, headers })).status).toBe(401);
    expect((await api.call("GET", login, { auth: null, headers })).status).toBe(401);
  });

  test("until it signs out, which removes the cookie", async () => {
    const { cookie } = await signIn();
    const out = await api.call("DELETE", login, { auth: null, headers: { ...change, cookie } });
    expect(out.headers["set-cookie"]).toMatch(
      /^millrace_session_8150=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/,
    );
    expect((await api.call("GET", keys, { auth: null, headers: { ...own, cookie } })).status).toBe(401);
  });

  test("and is listed and ended by its key, or by an admin", async () => {
    const one = await signIn("developer");
    const two = await signIn("developer");
    const mine = { auth: null, headers: { ...own, cookie: one.cookie } };
    const { result } = (await api.call("GET", sessions, mine)).body;
    expect(result).toMatchObject([{ keyId: one.key.id, keyName: "developer", current: true }]);
    const all = (await api.call("GET", sessions)).body.result as { id: string; keyId: string; current: boolean }[];
    const other = all.find(({ keyId }) => keyId === two.key.id);
    expect(other).toMatchObject({ current: false });
    const end = `${sessions}/${other?.id}`;
    expect((await api.call("DELETE", end, { auth: null, headers: { ...change, cookie: one.cookie } })).status).toBe(
      404,
    );
    expect((await api.call("DELETE", end)).status).toBe(200);
    expect((await api.call("GET", keys, { auth: null, headers: { ...own, cookie: two.cookie } })).status).toBe(401);
  });
});
