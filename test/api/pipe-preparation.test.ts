/** Operations that look at a source before a pipe is created: roles, bodies, and what they leave behind. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let root: string;

const secretKey = "SK-of-the-preparation";
const objectStorage = { url: "http://127.0.0.1:1/bucket/*.json", accessKey: { accessKeyId: "AK", secretKey } };
const columns = [{ name: "id", type: "UInt64" }];
const pipe = { name: "Events", source: { objectStorage }, destination: { table: "events", columns } };

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  root = `/v1/organizations/{o}/services/${body.result.service.id}/pipes`;
  await api.services.setState(body.result.service.id, "running", null);
});
afterAll(() => api[Symbol.asyncDispose]());

test.each([
  ["validate", pipe],
  ["sourceListing", { source: { objectStorage } }],
  ["schemaDiscovery", { source: { objectStorage } }],
])("%s is for developers, of a service that exists, and leaves no secret and no pipe", async (path, body) => {
  const owner = { organizationId: api.organizationId, name: "r", expireAt: null };
  const make = async (role: "read_only" | "developer") => {
    const { key, secret } = await api.credentials.createKey({ ...owner, role, state: "enabled" });
    return basic(key.keyId, secret);
  };
  expect((await api.call("POST", `${root}/${path}`, { body, auth: await make("read_only") })).status).toBe(403);
  const answer = await api.call("POST", `${root}/${path}`, { body, auth: await make("developer") });
  expect([200, 400, 503]).toContain(answer.status);
  expect(answer.text).not.toContain(secretKey);
  const other = root.replace(/services\/[^/]+/, "services/00000000-0000-4000-8000-000000000000");
  expect((await api.call("POST", `${other}/${path}`, { body })).status).toBe(404);
  expect((await api.call("GET", root)).body.result).toEqual([]);
  const activities = await api.call("GET", "/v1/organizations/{o}/activities");
  expect(activities.text).not.toMatch(new RegExp(`${secretKey}|${path}`));
});

test.each(["events", "arn:aws:sqs:us-east-1:1:q", "ftp://host/q"])("%s is not the URL of a queue", async (queueUrl) => {
  const source = { objectStorage: { ...objectStorage, isContinuous: true, queueUrl } };
  const { status, body } = await api.call("POST", root, { body: { ...pipe, source } });
  expect(status).toBe(400);
  expect(body.issues).toEqual([
    { path: "source.objectStorage.queueUrl", message: "must be the http(s):// URL of a queue, not its name or ARN" },
  ]);
});

test("validate reports what create refuses, each with its check, and checks the rest", async () => {
  const destination = { table: "events", columns: [...columns, ...columns] };
  const { status, body } = await api.call("POST", `${root}/validate`, { body: { ...pipe, destination } });
  expect(status).toBe(200);
  expect(body.result).toMatchObject({
    ok: false,
    checks: [
      { name: "definition", ok: false, issues: [{ path: "destination.columns.1.name" }] },
      { name: "service", ok: true },
    ],
  });
  const created = await api.call("POST", root, { body: { ...pipe, destination } });
  expect(created.body.issues).toEqual(body.result.checks[0].issues);
  // The engine of this server does not start: that is what keeps source and destination from being checked.
  const fine = (await api.call("POST", `${root}/validate`, { body: pipe })).body.result;
  expect(fine.ok).toBe(false);
  expect(fine.checks.at(-1)).toMatchObject({ name: "service", ok: false, issues: [{ message: "no engine here" }] });
});

test("a listing needs the connection alone: what it tells may be absent, the rest is checked as for create", async () => {
  const list = async (source: object) => await api.call("POST", `${root}/sourceListing`, { body: { source } });
  const paths = async (source: object) => (await list(source)).body.issues?.map(({ path }: { path: string }) => path);
  expect(await paths({ messageBroker: {} })).toEqual(["source.messageBroker.brokers"]);
  expect(await paths({ managedStream: { region: "eu-west-1" } })).toEqual(["source.managedStream.accessKey"]);
  expect(await paths({ relationalDb: { host: "127.0.0.1", database: "d" } })).toEqual([
    "source.relationalDb.credentials",
  ]);
  expect(await paths({ objectStorage: {} })).toEqual(["source.objectStorage.url"]);
  const offset = { strategy: "from_beginning" };
  const refused = await list({ messageBroker: { brokers: "127.0.0.1:1", offset } });
  expect(refused.body.error).toMatch(/127\.0\.0\.1:1/);
});

const secret = "secret-in-a-url";
const schemaRegistry = { url: `https://u:${secret}@registry.example`, credentials: { username: "u", password: "p" } };
test.each<[string, object]>([
  ["objectStorage.url", { objectStorage: { url: `https://${secret}@bucket.example/b/*.json` } }],
  [
    "objectStorage.queueUrl",
    { objectStorage: { ...objectStorage, isContinuous: true, queueUrl: `https://:${secret}@q` } },
  ],
  [
    "messageBroker.schemaRegistry.url",
    { messageBroker: { brokers: "b:9092", topics: "t", format: "AvroConfluent", schemaRegistry } },
  ],
  ["messageBroker.brokers", { messageBroker: { brokers: `SASL_SSL://u:${secret}@b:9092`, topics: "t" } }],
  [
    "managedStream.endpoint",
    {
      managedStream: { streamName: "s", region: "us-east-1", endpoint: `http://u:${secret}@h`, iteratorType: "LATEST" },
    },
  ],
])("a login in the URL of %s, which readers would see, is refused and not repeated", async (path, source) => {
  for (const name of ["", "/sourceListing", "/schemaDiscovery"]) {
    const { status, text } = await api.call("POST", `${root}${name}`, {
      body: name === "" ? { ...pipe, source } : { source },
    });
    expect([status, text]).toEqual([400, expect.stringContaining(`source.${path}: must not contain user`)]);
    expect(text).not.toContain(secret);
  }
  expect((await api.call("GET", root)).text).not.toContain(secret);
});
