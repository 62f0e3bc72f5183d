/** Moves of services in the API: what is refused, stored and shown. The copy itself is in test/real/external. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { runInside } from "../../harness/cli.ts";
import type { MovePlan } from "../../src/services/moves/moves.ts";
import { type Api, startApi } from "./harness.ts";

const services = "/v1/organizations/{o}/services";
const connection = { urls: ["https://ch.example.com"], username: "owner", password: "open-sesame" };
const table = {
  sortingKey: "id",
  kind: "table",
  database: "default",
  name: "t",
  engine: "MergeTree",
  statement: "",
  rows: 7,
  bytes: 90,
};
const nothing: MovePlan = { objects: [], left: [], obstacles: [] };

let plan: MovePlan = nothing;
let api: Api;
beforeAll(async () => {
  api = await startApi({ planMove: async () => plan });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  plan = nothing;
});

let count = 0;
async function running(): Promise<string> {
  count += 1;
  const { id } = (await api.call("POST", services, { body: { name: `s${count}` } })).body.result.service;
  await api.services.setState(id, "running", null);
  return id;
}
const move = async (id: string, body: object = { connection }) =>
  await api.call("POST", `${services}/${id}/move`, { body });

test("a plan says what is moved, what is left and why the server cannot receive it", async () => {
  const id = await running();
  const left = [{ object: "default.log", message: "the engine Log cannot be moved" }];
  plan = { objects: [{ ...table, kind: "table" }], left, obstacles: [{ message: "two shards" }] };
  const answer = await api.call("POST", `${services}/${id}/movePlan`, { body: { connection } });
  expect(answer.body.result).toEqual({
    objects: [{ kind: "table", database: "default", name: "t", rows: 7, bytes: 90 }],
    leftBehind: left,
    problems: [{ message: "two shards" }],
    ...{ totalRows: 7, totalBytes: 90 },
  });
});

test("nothing begins while something cannot be moved, unless it is to be left behind", async () => {
  const id = await running();
  plan = { ...nothing, left: [{ object: "default.log", message: "the engine Log cannot be moved" }] };
  const refused = await move(id);
  expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: "default.log" }] } });
  expect((await api.call("GET", `${services}/${id}/move`)).status).toBe(404);
  const begun = await move(id, { connection, leaveBehind: true });
  expect(begun.body.result).toMatchObject({ serviceId: id, status: "copying", progress: { copiedRows: 0 } });
  expect(begun.text).not.toContain(connection.password);
});

test("an open move excludes another one and the deletion of the service, and can be cancelled", async () => {
  const id = await running();
  await move(id);
  expect((await move(id)).status).toBe(409);
  await api.services.setState(id, "stopped", null);
  expect((await api.call("DELETE", `${services}/${id}`)).status).toBe(409);
  const cancelled = await api.call("DELETE", `${services}/${id}/move`);
  expect(cancelled.body.result).toMatchObject({ cancelRequested: true, status: "copying" });
});

test.each([
  [{}, /either connection or targetServiceId/],
  [{ connection, targetServiceId: crypto.randomUUID() }, /either connection or targetServiceId/],
  [{ targetServiceId: crypto.randomUUID() }, /not found|does not exist/i],
])("%j names no server", async (body, message) => {
  const answer = await move(await running(), body);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.text).toMatch(message);
});

test("the connection of an external service can be used, and such a service does not move", async () => {
  const body = { name: "warehouse", runtime: "external", connection };
  const { id: targetServiceId } = (await api.call("POST", services, { body })).body.result.service;
  const id = await running();
  expect((await move(id, { targetServiceId })).body.result).toMatchObject({ serviceId: id, status: "copying" });
  expect((await move(targetServiceId)).body.error).toMatch(/external already/);
  expect((await move(await running(), { targetServiceId: id })).body.issues).toMatchObject([
    { path: "targetServiceId" },
  ]);
});

test("the command line shows the plan, begins, shows and cancels", async () => {
  const url = await api.server.listen({ host: "127.0.0.1", port: 0 });
  const id = await running();
  const { name } = (await api.call("GET", `${services}/${id}`)).body.result;
  const run = async (line: string) => {
    const env = { MILLRACE_URL: url, MILLRACE_KEY: `${api.keyId}:${api.keySecret}` };
    return await runInside(line.split(" "), { cwd: api.dataDir, home: api.dataDir, env });
  };
  plan = { ...nothing, objects: [{ ...table, kind: "table" }] };
  expect((await run(`service move ${name} --to warehouse --plan`)).stderr).toMatch(/moves 1 objects, 7 rows/);
  expect((await run(`service move ${name} --to warehouse --yes`)).stderr).toMatch(/copying/);
  expect((await run(`service move ${name} --status`)).stdout).toMatch(/copying/);
  expect((await run(`service move ${name} --cancel`)).stderr).toMatch(/being cancelled/);
  expect((await run(`service move ${name}`)).stderr).toMatch(/name the server/);
});
