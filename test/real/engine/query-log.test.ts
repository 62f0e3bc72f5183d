/** Running and recent queries of a service through the management API. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type BenchService,
  letSleep,
  query,
  runningService,
  type Served,
  serve,
  until,
} from "../../../harness/serve.ts";
import { ApiError } from "../../../src/api/client.ts";

let served: Served;
let service: BenchService;

beforeAll(async () => {
  // Five minutes of idleness are three seconds, longer than the engine takes to write its log.
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "600" } });
  const memory = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 };
  service = await runningService(served, { idleScaling: false, ...memory });
});
afterAll(() => served[Symbol.asyncDispose]());

const state = async () => (await served.api.getService({ params: service.params })).state;
const list = (search: { limit?: number; cursor?: string; failed?: "true" } = {}) =>
  served.api.listQueries({ params: service.params, query: search });
const run = (body: { query: string; queryId: string }) =>
  served.api.runQuery({ params: service.params, body }).then((response) => response.text());

test("recent queries: who, what, how much, and why it failed", async () => {
  await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await run({ query: "INSERT INTO t SELECT number FROM numbers(1000)", queryId: "insert" });
  await run({ query: "SELECT count() FROM t WHERE a = 5", queryId: "one" });
  await run({ query: "SELECT count() FROM t WHERE a = 6", queryId: "other" });
  await expect(run({ query: "SELECT throwIf(a = 3) FROM t", queryId: "failing" })).rejects.toThrow(ApiError);
  const { live, recent } = await until("the log has the last query", async () => {
    const page = await list();
    return page.recent[0]?.queryId === "failing" ? page : undefined;
  });
  expect(live).toBe(true);
  const byId = new Map(recent.map((record) => [record.queryId, record]));
  expect(byId.get("insert")).toMatchObject({
    state: "finished",
    kind: "Insert",
    user: "millrace-writer",
    address: "127.0.0.1",
    userAgent: expect.stringMatching(/^millrace-api\/[0-9a-f-]{36}$/),
    database: "default",
    writtenRows: 1000,
    query: "INSERT INTO t SELECT number FROM numbers(1000)",
  });
  expect(byId.get("one")?.hash).toBe(byId.get("other")?.hash);
  expect(Date.parse(byId.get("one")?.startedAt as string)).toBeGreaterThan(Date.now() - 60_000);
  expect(byId.get("failing")).toMatchObject({ state: "failed", error: { code: 395, message: expect.any(String) } });
  // A client of the endpoint, and nothing of the program itself.
  expect(recent.find(({ kind }) => kind === "Create")).toMatchObject({ user: "default", address: "127.0.0.1" });
  expect(recent.map(({ user }) => user)).not.toContain("millrace-internal");
  expect(recent.length).toBeLessThan(10);
});

test("pages follow each other without gaps, and failed ones can be selected", async () => {
  const all = (await list()).recent.map(({ queryId }) => queryId);
  const paged: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.recent.length).toBeLessThanOrEqual(2);
    paged.push(...page.recent.map(({ queryId }) => queryId));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  expect(paged).toEqual(all);
  expect((await list({ failed: "true" })).recent.map(({ queryId }) => queryId)).toEqual(["failing"]);
  await expect(list({ cursor: "nonsense" })).rejects.toMatchObject({ status: 400 });
});

test("a running query is listed with its progress, and is ended", async () => {
  const statement = "SELECT sum(sleepEachRow(0.1)) FROM numbers(3000) SETTINGS max_block_size = 1";
  // An error before the first row, or in the result after it.
  const long = run({ query: statement, queryId: "long" }).catch(String);
  // Its size is known a moment after its beginning.
  const record = await until("it runs", async () =>
    (await list()).running.find(({ queryId, totalRows }) => queryId === "long" && totalRows === 3000),
  );
  expect(record).toMatchObject({ state: "running", address: "127.0.0.1", query: statement });
  await served.api.cancelQuery({ params: { ...service.params, queryId: "long" } });
  expect(await long).toMatch(/cancelled/i);
  await until("it is gone", async () => (await list()).running.length === 0);
  for (const queryId of ["long", "' OR 1 = 1 OR query_id = '"]) {
    const none = served.api.cancelQuery({ params: { ...service.params, queryId } });
    await expect(none).rejects.toMatchObject({ status: 404 });
  }
});

test("a key that only reads does not see the statements of others", async () => {
  const { organizationId } = served.credentials;
  const made = await served.api.createKey({ params: { organizationId }, body: { name: "r", roles: ["read_only"] } });
  const authorization = `Basic ${Buffer.from(`${made.keyId}:${made.keySecret}`).toString("base64")}`;
  const url = `${served.credentials.baseUrl}/v1/organizations/${organizationId}/services/${service.id}/queries`;
  expect((await fetch(url, { headers: { authorization } })).status).toBe(403);
  expect((await fetch(`${url}/x`, { method: "DELETE", headers: { authorization } })).status).toBe(403);
});

test("asking does not keep the service awake; asleep it shows its last queries and stays asleep", async () => {
  await run({ query: "SELECT 'the last'", queryId: "last" });
  await letSleep(served, service);
  await until("it sleeps in spite of the questions", async () => {
    await list();
    return (await state()) === "idle";
  });
  const { live, asOf, running, recent, cursor } = await list();
  expect([live, running, cursor]).toEqual([false, [], undefined]);
  expect(Date.now() - Date.parse(asOf as string)).toBeLessThan(60_000);
  expect(recent[0]).toMatchObject({ queryId: "last", query: "SELECT 'the last'" });
  expect((await list({ failed: "true" })).recent.map(({ queryId }) => queryId)).toEqual(["long", "failing"]);
  const none = served.api.cancelQuery({ params: { ...service.params, queryId: "last" } });
  await expect(none).rejects.toMatchObject({ status: 404 });
  expect(await state()).toBe("idle");
});

test("awake again, the service records its queries again", async () => {
  await run({ query: "SELECT 'after the sleep'", queryId: "awake" });
  await until("it is recorded", async () => {
    const { live, recent } = await list();
    return live && recent.some(({ queryId }) => queryId === "awake");
  });
});
