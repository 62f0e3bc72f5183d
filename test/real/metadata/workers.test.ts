/** Workers apart from the server: they run its pipes also while it is gone, and each other's when one of them is. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { externalServiceOn } from "../../../harness/clickhouse/external-service.ts";
import { TestServer } from "../../../harness/clickhouse/server.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows } from "../../../harness/pipes.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { LeaseHistory } from "../../../harness/postgres/lease-history.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import {
  type BenchService,
  type Served,
  serve,
  serveWorker,
  until,
  untilText,
  type WorkerServed,
} from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { nodeIdOf } from "../../../src/store/nodes/node-id.ts";

const missing = postgresMissing(18);

test("a worker needs a database that it can share", () => {
  const main = join(import.meta.dirname, "../../../src/main.ts");
  const { status, stderr } = spawnSync(process.execPath, [main, "worker"], { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain("set --database to their Postgres database");
});

describe.skipIf(missing !== undefined)(`workers apart from the server${missing ? `: ${missing}` : ""}`, () => {
  const peers = new AsyncDisposableStack();
  let store: TestStore;
  let clickhouse: TestServer;
  let history: LeaseHistory;
  let served: Served;
  let service: BenchService;
  const workers: WorkerServed[] = [];
  const pipeIds: string[] = [];
  const tables = ["a", "b", "c"];
  let files = 0;

  beforeAll(async () => {
    const [postgres, objects, server] = await Promise.all([
      TestPostgres.start({ version: 18 }),
      startFauxqs(),
      TestServer.start(),
    ]);
    [store, clickhouse] = [peers.use(objects), peers.use(server)];
    const database = await databaseUrl(peers.use(postgres), "workers");
    history = await LeaseHistory.on(database);
    const env = sharedEnvironment(database);
    served = await serve({ env: { ...env, MILLRACE_SLOTS: "0" } });
    workers.push(await serveWorker({ env, slots: 2 }), await serveWorker({ env }));
    service = await externalServiceOn(served, clickhouse, "app");
    for (const table of tables) {
      const body = { settings: { object_storage_polling_interval_ms: 100 } };
      const source = { isContinuous: true };
      pipeIds.push(await createPipe(served, service, pipeBody(store, `${table}/*.json`, table, { source, body })));
    }
  });
  afterAll(async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const nodeOf = ({ dataDir }: { dataDir: string }) => nodeIdOf(dataDir);
  const holders = async () => (await history.present("pipe")).map(({ holder }) => holder);
  async function load(): Promise<void> {
    for (const table of tables) await store.put(`${table}/${files}.json`, rows(files * 100, (files + 1) * 100));
    files += 1;
  }
  /** Every row of each pipe, once. */
  async function untilAll(): Promise<void> {
    const expected = `${files * 100}\t${files * 100}`;
    for (const table of tables) {
      const sql = `SELECT count(), uniqExact(id) FROM app.${table} FORMAT TSV`;
      const read = async () => (await clickhouse.client.text(sql).catch((error: Error) => error.message)).trim();
      await untilText(`all rows in ${table}`, expected, read);
    }
  }

  test("the pipes run in the workers, and the server shows how", async () => {
    await load();
    await untilAll();
    expect(new Set(await holders())).toEqual(new Set(workers.map(nodeOf)));
    for (const pipeId of pipeIds) {
      await untilText("a running pipe that has sent its rows once", "Running 100", async () => {
        const { state, progress } = await details(served, service, pipeId);
        return `${state} ${progress.sentRows}`;
      });
    }
  });

  test("while the server is gone the workers go on, and take over from each other", async () => {
    served.process.kill("SIGKILL");
    const [first, second] = workers as [WorkerServed, WorkerServed];
    await load();
    await untilAll();
    first.process.kill("SIGKILL");
    await load();
    await until("the second has all", async () => `${await holders()}` === `${tables.map(() => nodeOf(second))}`);
    await load();
    await untilAll();
    expect(await history.sharedFences()).toEqual([]);
    served = await served.restartAfterKill();
    const { params } = service;
    await until("running", async () => (await served.api.getService({ params })).state === "running");
    // What a command asks for, a worker does.
    await served.api.updatePipeState({ params: { ...params, pipeId: pipeIds[0] ?? "" }, body: { command: "stop" } });
    await until("Stopped", async () => (await details(served, service, pipeIds[0] ?? "")).state === "Stopped");
  });
});
