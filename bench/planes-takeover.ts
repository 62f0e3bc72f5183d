/** How long pipes rest when their process goes, and how fast a server answers meanwhile. */
import { externalServiceOn } from "../harness/clickhouse/external-service.ts";
import { TestServer } from "../harness/clickhouse/server.ts";
import { startFauxqs } from "../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows } from "../harness/pipes.ts";
import { ApiWatch } from "../harness/planes/api-watch.ts";
import { sharedEnvironment } from "../harness/planes/shared-database.ts";
import { LeaseHistory } from "../harness/postgres/lease-history.ts";
import type { TestPostgres } from "../harness/postgres/postgres.ts";
import { type Served, serve, serveWorker, until, type WorkerServed } from "../harness/serve.ts";
import { databaseUrl } from "../harness/stores.ts";
import { nodeIdOf } from "../src/store/node-id.ts";
import { median, percentile } from "./bench.ts";

const pipes = 8;
const rounds = 3;

export type Takeover = {
  readonly killedP50Ms: number;
  readonly killedP95Ms: number;
  readonly stoppedP50Ms: number;
  readonly stoppedP95Ms: number;
  readonly apiP99Ms: number;
};

/** Kills and stops one of two workers, and reads from the database when the other one has its pipes. */
export async function measureTakeover(postgres: TestPostgres): Promise<Takeover> {
  await using stack = new AsyncDisposableStack();
  const database = await databaseUrl(postgres, "takeover");
  const history = await LeaseHistory.on(database);
  const clickhouse = stack.use(await TestServer.start());
  const env = sharedEnvironment(database);
  const served = stack.use(await serve({ env: { ...env, MILLRACE_SLOTS: "0" } }));
  await pipesOn(served, clickhouse, stack);
  const workers: [WorkerServed, WorkerServed] = [await serveWorker({ env }), await serveWorker({ env })];
  stack.defer(async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
  });
  const watch = stack.use(new ApiWatch({ servers: [served], isDatabaseAway: false }));
  const found: Record<"SIGKILL" | "SIGTERM", number[]> = { SIGKILL: [], SIGTERM: [] };
  for (let round = 0; round < 2 * rounds; round += 1) {
    const signal = round % 2 === 0 ? "SIGKILL" : "SIGTERM";
    await until("each has its share", async () => (await countsOf(history)).join() === `${pipes / 2},${pipes / 2}`);
    const before = Date.now();
    workers[0].process.kill(signal);
    await until("the other one has all", async () => (await countsOf(history)).join() === String(pipes));
    const heir = nodeIdOf(workers[1].dataDir);
    const taken = (await history.holders("pipe")).filter(({ holder, at }) => holder === heir && at > before);
    found[signal].push(...taken.map(({ at }) => at - before));
    workers[0] = await workers[0].restartAfterKill();
  }
  return {
    killedP50Ms: Math.round(median(found.SIGKILL)),
    killedP95Ms: Math.round(percentile(found.SIGKILL, 95)),
    stoppedP50Ms: Math.round(median(found.SIGTERM)),
    stoppedP95Ms: Math.round(percentile(found.SIGTERM, 95)),
    apiP99Ms: watch.quantile(0.99),
  };
}

async function pipesOn(served: Served, clickhouse: TestServer, stack: AsyncDisposableStack): Promise<void> {
  const store = stack.use(await startFauxqs());
  const service = await externalServiceOn(served, clickhouse, "app");
  for (let at = 0; at < pipes; at += 1) {
    await store.put(`t${at}/0.json`, rows(0, 100));
    await createPipe(served, service, pipeBody(store, `t${at}/*.json`, `t${at}`, { source: { isContinuous: true } }));
  }
}

/** Pipes of each process that has any. */
async function countsOf(history: LeaseHistory): Promise<number[]> {
  const present = await history.present("pipe");
  return [...Map.groupBy(present, ({ holder }) => holder).values()].map((held) => held.length);
}
