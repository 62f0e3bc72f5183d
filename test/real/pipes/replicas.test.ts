/** Several workers of one pipe, killed and changed in number while they load. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { type StoreProxy, startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { createPipe, pipeBody, rows } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;
let storeProxy: StoreProxy;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  storeProxy = await startStoreProxy(store.endpoint);
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await storeProxy[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const count = async (table: string) => Number(await query(service, `SELECT count() FROM ${table}`).catch(() => "0"));

test("every row once with replicas 1 -> 3 -> 2 and kills of any of them while batches are under way", async () => {
  // Reading is slow, so that a kill always finds unfinished inserts.
  storeProxy.pauseBefore = ({ url, method }) => (method === "GET" && /\/\d+\.json/.test(url ?? "") ? 150 : 0);
  const files = 240;
  for (let i = 0; i < files; i += 1) await store.put(`in/${i}.json`, rows(10 * i, 10 * i + 10));
  const settings = {
    object_storage_polling_interval_ms: 200,
    object_storage_max_file_count: 3,
    object_storage_concurrency: 3,
  };
  const source = { url: `${storeProxy.endpoint}/bucket/in/*.json`, isContinuous: true };
  const id = await createPipe(served, service, pipeBody(store, "", "shared", { source, body: { settings } }));
  const params = { ...service.params, pipeId: id };
  const killed: number[] = [];
  const kill = async (index: number) => {
    const file = `${served.dataDir}/pipes/${index === 0 ? id : `${id}.${index}`}.pid`;
    await until(`replica ${index} lives`, async () => {
      try {
        const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
        if (killed.includes(pid)) return false;
        process.kill(pid, "SIGKILL");
        killed.push(pid);
        return true;
      } catch {
        return false;
      }
    });
  };
  const more = async () => {
    const before = await count("shared");
    await until("more rows", async () => (await count("shared")) > before, 20_000);
  };
  for (const [replicas, victims] of [
    [1, [0]],
    [3, [2, 1, 0]],
    [2, [1, 0]],
  ] as const) {
    if (replicas > 1) await served.api.updatePipeScaling({ params, body: { replicas } });
    for (const victim of victims) {
      if ((await count("shared")) < 10 * files) await more();
      await kill(victim);
    }
  }
  await until("complete", async () => (await count("shared")) >= 10 * files, 90_000);
  // Any duplicate would arrive before the later objects, in the lanes of either replica.
  const later = 8;
  for (let i = files; i < files + later; i += 1) await store.put(`in/${i}.json`, rows(10 * i, 10 * i + 10));
  const all = 10 * (files + later);
  const found = `SELECT uniqExact(id) FROM shared WHERE id >= ${10 * files}`;
  await until("later files", async () => Number(await query(service, found)) === 10 * later, 20_000);
  expect(await query(service, "SELECT count(), uniqExact(id) FROM shared")).toBe(`${all}\t${all}`);
}, 150_000);
