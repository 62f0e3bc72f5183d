/** Pipes that share worker processes: what one does to the others, and which never share one. */
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { kill } from "../../../harness/chaos.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { type StoreProxy, startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { createPipe, details, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;
let storeProxy: StoreProxy;

beforeAll(async () => {
  [served, store] = await Promise.all([serve({ env: { MILLRACE_PIPE_WORKERS: "1" } }), startFauxqs()]);
  storeProxy = await startStoreProxy(store.endpoint);
  service = await runningService(served, { idleScaling: false });
}, 60_000);
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await storeProxy[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
/** What a test leaves would share processes with the pipes of the next one. */
afterEach(async () => {
  storeProxy.pauseBefore = () => 0;
  for (const { id } of await served.api.listPipes({ params: service.params })) {
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  }
  await until("no worker runs", async () => (await served.api.getSystem({ params: {} })).workers.length === 0);
}, 60_000);

const pidFile = (pipeId: string) => `${served.dataDir}/pipes/${pipeId}.pid`;
/** Undefined while the pipe has no process. */
function pidOf(pipeId: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(pidFile(pipeId), "utf8")) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

const count = async (table: string) => Number(await query(service, `SELECT count() FROM ${table}`).catch(() => "0"));

/** A pipe that follows `prefix/*.json` through the proxy, a few objects at a time. */
async function follow(prefix: string, more: object = {}): Promise<string> {
  const settings = {
    object_storage_polling_interval_ms: 200,
    object_storage_max_file_count: 3,
    object_storage_concurrency: 2,
  };
  const source = { url: `${storeProxy.endpoint}/bucket/${prefix}/*.json`, isContinuous: true };
  const body = pipeBody(store, "", prefix, { source, body: { settings, ...more } });
  return await createPipe(served, service, body);
}

test("a process that is killed while two pipes load costs both of them nothing but a replay", async () => {
  storeProxy.pauseBefore = ({ url, method }) => (method === "GET" && /\/\d+\.json/.test(url ?? "") ? 100 : 0);
  const files = 40;
  for (const prefix of ["one", "other"]) {
    for (let i = 0; i < files; i += 1) await store.put(`${prefix}/${i}.json`, rows(10 * i, 10 * i + 10));
  }
  const ids = [await follow("one"), await follow("other")] as const;
  for (const id of ids) await untilState(served, service, id, "Running");
  expect(pidOf(ids[0]), "they share a process").toBe(pidOf(ids[1]));
  for (let round = 0; round < 3; round += 1) {
    const before = await count("one");
    await until("more rows", async () => (await count("one")) > before || before === 10 * files);
    const pid = pidOf(ids[0]);
    expect(kill(pidFile(ids[0]))).toBe(true);
    for (const id of ids) await until("another process", async () => ![undefined, pid].includes(pidOf(id)));
  }
  for (const prefix of ["one", "other"]) {
    await until(`all of ${prefix}`, async () => (await count(prefix)) >= 10 * files);
    // A replay of anything that was inserted already would come before later objects.
    await store.put(`${prefix}/${files}.json`, rows(10 * files, 10 * files + 10));
    await until("the later object", async () => (await count(prefix)) >= 10 * files + 10);
    const all = 10 * files + 10;
    expect(await query(service, `SELECT count(), uniqExact(id) FROM ${prefix}`)).toBe(`${all}\t${all}`);
  }
  // Three deaths in a row: from now on neither shares a process.
  expect(pidOf(ids[0])).not.toBe(pidOf(ids[1]));
  const { workers } = await served.api.getSystem({ params: {} });
  for (const id of ids)
    expect(workers.filter(({ pipes }) => pipes.includes(id))).toMatchObject([{ own: true, slots: 1 }]);
}, 180_000);

test("stopping, editing and deleting a pipe leaves its neighbours in their process, and nothing of itself", async () => {
  await store.put("stays/0.json", rows(0, 10));
  await store.put("goes/0.json", rows(0, 10));
  const [stays, goes] = [await follow("stays"), await follow("goes")];
  for (const id of [stays, goes]) await untilState(served, service, id, "Running");
  const pid = pidOf(stays) as number;
  expect(pidOf(goes)).toBe(pid);
  await until("the first object", async () => (await count("goes")) === 10);
  const params = { ...service.params, pipeId: goes };
  await served.api.updatePipeState({ params, body: { command: "stop" } });
  await untilState(served, service, goes, "Stopped");
  let read = 0;
  storeProxy.pauseBefore = ({ url }) => {
    if (url?.includes("goes/1.json") === true) read += 1;
    return 0;
  };
  for (const prefix of ["goes", "stays"]) await store.put(`${prefix}/1.json`, rows(10, 20));
  await until("the neighbour goes on", async () => (await count("stays")) === 20);
  expect([await count("goes"), read], "a stopped pipe reads nothing").toEqual([10, 0]);
  await served.api.updatePipeState({ params, body: { command: "start" } });
  await untilState(served, service, goes, "Running");
  await served.api.updatePipeScaling({ params, body: { concurrency: 3 } });
  // Shown when workers of the changed definition run.
  await untilState(served, service, goes, "Running");
  expect(pidOf(goes)).toBe(pid);
  await until("the new object", async () => (await count("goes")) === 20);
  await served.api.deletePipe({ params });
  await store.put("stays/2.json", rows(20, 30));
  await until("the neighbour goes on", async () => (await count("stays")) === 30);
  expect(pidOf(stays)).toBe(pid);
  await served.api.deletePipe({ params: { ...service.params, pipeId: stays } });
  await until("the process ends with its last pipe", async () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
}, 90_000);

test("a replica with limits has a process of its own; the system and the metrics show both", async () => {
  await store.put("first/0.json", rows(0, 10));
  const [first, second] = [await follow("first"), await follow("second")];
  const limited = await follow("limited", { scaling: { replicaMemoryGb: 1, replicaCpuMillicores: 500 } });
  for (const id of [first, second, limited]) await untilState(served, service, id, "Running");
  expect(pidOf(second)).toBe(pidOf(first));
  expect(pidOf(limited)).not.toBe(pidOf(first));
  const { workers } = await served.api.getSystem({ params: {} });
  const of = (id: string) => workers.find(({ pipes }) => pipes.includes(id));
  expect(of(first)).toMatchObject({ pid: pidOf(first), source: "objectStorage", own: false, slots: 2 });
  expect(of(limited)).toMatchObject({ pid: pidOf(limited), own: true, slots: 1, pipes: [limited] });
  expect(of(limited)?.memoryLimitBytes).toBeLessThan(of(first)?.memoryLimitBytes as number);
  const metrics = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
  expect(metrics).toMatch(/^Pipes_WorkerSlots_Used\{[^}]*pipe_source="objectStorage"[^}]*\} 2$/m);
  expect(metrics).toMatch(/^Pipes_WorkerMemory_Bytes\{[^}]*\} \d{8,}$/m);
  expect((await details(served, service, limited)).state).toBe("Running");
}, 90_000);
