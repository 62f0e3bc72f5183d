/**
 * How long pipes rest when their process goes, and how fast a server answers meanwhile. Sources grow all the time, so
 * that small batches are in progress at the end of the process.
 */
import { setTimeout as delay } from "node:timers/promises";
import { externalServiceOn } from "../harness/clickhouse/external-service.ts";
import { TestServer } from "../harness/clickhouse/server.ts";
import { startFauxqs, type TestStore } from "../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows } from "../harness/pipes.ts";
import { ApiWatch } from "../harness/planes/api-watch.ts";
import { Availability } from "../harness/planes/availability.ts";
import { sharedEnvironment } from "../harness/planes/shared-database.ts";
import { BatchHistory } from "../harness/postgres/batch-history.ts";
import { LeaseHistory } from "../harness/postgres/lease-history.ts";
import type { TestPostgres } from "../harness/postgres/postgres.ts";
import { type Served, serve, serveWorker, until, type WorkerServed } from "../harness/serve.ts";
import { databaseUrl } from "../harness/stores.ts";
import { nodeIdOf } from "../src/store/nodes/node-id.ts";
import { median, percentile } from "./bench.ts";

const pipes = 8;
const roundsOf = { SIGKILL: 3, SIGTERM: 10 } as const;
const feedEveryMs = 150;
const pollEveryMs = 100;

export type Takeover = {
  /** From the signal to the claim by the other process. */
  readonly killedP50Ms: number;
  readonly killedP95Ms: number;
  readonly stoppedP50Ms: number;
  readonly stoppedP95Ms: number;
  /** From the last batch in the process that goes to the first one in the other. */
  readonly killedRestP50Ms: number;
  readonly killedRestP95Ms: number;
  readonly stoppedRestP50Ms: number;
  readonly stoppedRestP95Ms: number;
  readonly apiP99Ms: number;
};

type End = keyof typeof roundsOf;
type Times = { readonly claims: number[]; readonly rests: number[] };

/** Kills and stops one of two workers, and reads from the database when the other one has its pipes, and runs them. */
export async function measureTakeover(postgres: TestPostgres): Promise<Takeover> {
  await using stack = new AsyncDisposableStack();
  const database = await databaseUrl(postgres, "takeover");
  const histories = { leases: await LeaseHistory.on(database), batches: await BatchHistory.on(database) };
  const clickhouse = stack.use(await TestServer.start());
  const env = sharedEnvironment(database);
  const served = stack.use(await serve({ env: { ...env, MILLRACE_SLOTS: "0" } }));
  const workers: [WorkerServed, WorkerServed] = [await serveWorker({ env }), await serveWorker({ env })];
  stack.defer(async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
  });
  const store = stack.use(await startFauxqs());
  await pipesOn(served, clickhouse, store);
  stack.use(feeding(store));
  const watch = stack.use(new ApiWatch({ servers: [served] }, new Availability(1)));
  const found: Record<End, Times> = { SIGKILL: { claims: [], rests: [] }, SIGTERM: { claims: [], rests: [] } };
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    for (let round = 0; round < roundsOf[signal]; round += 1)
      await measureEnd(signal, workers, histories, found[signal]);
  }
  return { ...timesOf("killed", found.SIGKILL), ...timesOf("stopped", found.SIGTERM), apiP99Ms: watch.quantile(0.99) };
}

type Histories = { readonly leases: LeaseHistory; readonly batches: BatchHistory };

async function measureEnd(
  signal: End,
  workers: [WorkerServed, WorkerServed],
  { leases, batches }: Histories,
  times: Times,
): Promise<void> {
  const isBusy = async (since: number) => (await batches.busySince(since)).size === pipes;
  await until("each has its share", async () => (await countsOf(leases)).join() === `${pipes / 2},${pipes / 2}`);
  const shared = Date.now();
  await until("every pipe loads", () => isBusy(shared));
  const before = Date.now();
  workers[0].process.kill(signal);
  await until("the other one has all", async () => (await countsOf(leases)).join() === String(pipes));
  const heir = nodeIdOf(workers[1].dataDir);
  const taken = (await leases.holders("pipe")).filter(({ holder, at }) => holder === heir && at > before);
  const claimed = Math.max(...taken.map(({ at }) => at));
  await until("every pipe loads again", () => isBusy(claimed));
  for (const { id, at } of taken) {
    times.claims.push(at - before);
    times.rests.push(await batches.restAround(id, at));
  }
  workers[0] = await workers[0].restartAfterKill();
}

function timesOf<Name extends string>(name: Name, { claims, rests }: Times) {
  return {
    [`${name}P50Ms`]: Math.round(median(claims)),
    [`${name}P95Ms`]: Math.round(percentile(claims, 95)),
    [`${name}RestP50Ms`]: Math.round(median(rests)),
    [`${name}RestP95Ms`]: Math.round(percentile(rests, 95)),
  } as Record<`${Name}P50Ms` | `${Name}P95Ms` | `${Name}RestP50Ms` | `${Name}RestP95Ms`, number>;
}

async function pipesOn(served: Served, clickhouse: TestServer, store: TestStore): Promise<void> {
  const service = await externalServiceOn(served, clickhouse, "app");
  const settings = { object_storage_polling_interval_ms: pollEveryMs };
  for (let at = 0; at < pipes; at += 1) {
    const options = { source: { isContinuous: true }, body: { settings } };
    await createPipe(served, service, pipeBody(store, `t${at}/*.json`, `t${at}`, options));
  }
}

/** A small file for each pipe, again and again. */
function feeding(store: TestStore): AsyncDisposable {
  const stopped = new AbortController();
  const feed = async () => {
    for (let file = 0; !stopped.signal.aborted; file += 1) {
      const name = `${100_000 + file}.json`;
      await Promise.all(
        Array.from({ length: pipes }, (_, at) => store.put(`t${at}/${name}`, rows(file * 10, file * 10 + 10))),
      );
      await delay(feedEveryMs);
    }
  };
  const fed = feed();
  return {
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await fed;
    },
  };
}

/** Pipes of each process that has any. */
async function countsOf(history: LeaseHistory): Promise<number[]> {
  const present = await history.present("pipe");
  return [...Map.groupBy(present, ({ holder }) => holder).values()].map((held) => held.length);
}
