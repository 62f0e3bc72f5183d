/** Requests for refused rows, and the batches of a pipe, without an engine. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let pipeId: string;
let root: string;
let reader: string;

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "s" } });
  const serviceId = body.result.service.id;
  pipeId = await api.pipes.create(
    {
      ...{ serviceId, name: "Events", sourceKind: "objectStorage", roles: undefined, fieldMappings: [], secrets: {} },
      source: { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" } },
      ...{ destination: { table: "events", columns: [{ name: "a", type: "String" }] }, scaling: {}, settings: {} },
    },
    limits.pipes,
  );
  root = `/v1/organizations/{o}/services/${serviceId}/pipes/${pipeId}`;
  const owner = { organizationId: api.organizationId, name: "reader", expireAt: null };
  const { key, secret } = await api.credentials.createKey({ ...owner, role: "read_only", state: "enabled" });
  reader = basic(key.keyId, secret);
});
afterAll(() => api[Symbol.asyncDispose]());

const group = "0123456789abcdef";

test("a replay is recorded with the name of the key, and carried out by somebody else", async () => {
  const { status, body } = await api.call("POST", `${root}/errors/replay`, { body: { group } });
  expect([status, body.result]).toMatchObject([200, { kind: "replay", state: "pending", requestedBy: "admin" }]);
  const [stored] = await api.errorRequests.pending(pipeId);
  expect(stored).toMatchObject({ id: body.result.id, selection: { group } });
  await api.errorRequests.sized(body.result.id, 5);
  expect(await api.errorRequests.sized(body.result.id, 4)).toBe(5);
  await api.errorRequests.finish(body.result.id, { replayedRows: 3, refusedRows: 2 });
  const listed = await api.call("GET", `${root}/errors/requests`, { auth: reader });
  expect(listed.body.result).toMatchObject([{ state: "done", selectedRows: 5, replayedRows: 3, refusedRows: 2 }]);
});

test("a request that fails ends with its reason, and only so many wait", async () => {
  const discard = () => api.call("DELETE", `${root}/errors?origin=x`);
  for (let made = 0; made < 20; made += 1) expect((await discard()).status).toBe(200);
  expect(await discard()).toMatchObject({ status: 409 });
  await api.errorRequests.fail(pipeId, "the table is gone");
  const listed = (await api.call("GET", `${root}/errors/requests`)).body.result;
  expect(listed[0]).toMatchObject({ kind: "discard", state: "failed", reason: "the table is gone" });
  expect(await api.errorRequests.pipesWithWork()).toEqual([]);
});

test.each([
  ["POST", "errors/replay", {}],
  ["POST", "errors/replay", { group: "g" }],
  ["POST", "errors/replay", { rowIds: [] }],
  ["DELETE", "errors", undefined],
  ["DELETE", "errors?rowIds=x", undefined],
  ["GET", "errors/rows?cursor=x&wake=auto", undefined],
  ["GET", "batches?cursor=x", undefined],
])("%s %s %j is refused", async (method, path, body) => {
  const answer = await api.call(method, `${root}/${path}`, body === undefined ? {} : { body });
  expect(answer.status).toBe(400);
});

test("a read-only key reads, and neither replays nor discards", async () => {
  const auth = reader;
  expect((await api.call("POST", `${root}/errors/replay`, { auth, body: { group } })).status).toBe(403);
  expect((await api.call("DELETE", `${root}/errors?group=${group}`, { auth })).status).toBe(403);
  expect((await api.call("GET", `${root}/batches`, { auth })).status).toBe(200);
});

test("a service that sleeps is not woken unless the request says so", async () => {
  for (const path of ["errors", "errors/rows"]) {
    const answer = await api.call("GET", `${root}/${path}`);
    expect([answer.status, answer.text]).toEqual([424, expect.stringContaining("wake=auto")]);
    expect((await api.call("GET", `${root}/${path}?wake=auto`)).status).toBe(503);
  }
  const replay = await api.call("POST", `${root}/errors/replay?wake=never`, { body: { group } });
  expect(replay.status).toBe(424);
});

test("batches come in pages, newest first", async () => {
  for (const batchId of ["a", "b", "c"]) {
    await api.ledger.begin(pipeId, { batchId, lane: "l", intent: {} });
    await api.ledger.confirm(pipeId, { batchId, lane: "l", marks: {}, counts: { sentRows: 2, sentBytes: 20 } });
  }
  const first = (await api.call("GET", `${root}/batches?limit=2`)).body.result;
  expect(first.batches).toMatchObject([
    { id: "c", rows: 2, bytes: 20, refusedRows: 0 },
    { id: "b", lane: "l" },
  ]);
  const second = (await api.call("GET", `${root}/batches?limit=2&cursor=${first.nextCursor}`)).body.result;
  expect(second.batches.map(({ id }: { id: string }) => id)).toEqual(["a"]);
  expect(second.nextCursor).toBeUndefined();
});
