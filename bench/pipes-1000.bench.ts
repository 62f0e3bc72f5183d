/** What many pipes take: time until all run, memory, processor time at rest, and the time of lists. */
import { setTimeout as delay } from "node:timers/promises";
import { startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../harness/kafka/pipes.ts";
import { startFauxqs, type TestStore } from "../harness/objects/pipe-stores.ts";
import { type PipeBody, pipeBody, rows } from "../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { cpuMsOf, fleetOf, type Memory, memoryOf, seed } from "./fleet.ts";

export const description =
  "1,000 pipes (PIPES) on 100 services, 10 awake: all running <= 60 s, PSS <= 4 GB, <= 10 % of a core at rest, lists <= 100 ms; ratio: memory of a pipe in a process of its own against one of many; ends within 5 minutes";

const pipeCount = Number(process.env.PIPES ?? 1_000);
const awake = 10;
/** The comparison has as many processes as pipes. */
const alone = 20;
const topics = 50;
const rowsPerSource = 10;
const settleMs = 15_000;
const idleMs = 20_000;
const lists = 60;
/** What is measured by then is the result; the rest of the five minutes is for ending what has been started. */
const limitMs = 270_000;
const endMs = 20_000;

type Facts = { runningSeconds: number; startCpuSeconds: number; listMs: number } & ReturnType<typeof memoryOfAll> &
  Awaited<ReturnType<typeof idleOf>>;
type Measured = { what: string; pipes: number } & Partial<Facts>;
/** What runs, to be ended whatever happens. */
type Peers = { readonly stack: AsyncDisposableStack; readonly servers: Served[] };

export async function run(): Promise<BenchResult> {
  const peers: Peers = { stack: new AsyncDisposableStack(), servers: [] };
  const many: Measured = { what: "shared processes", pipes: pipeCount };
  const apart: Measured = { what: "a process per pipe", pipes: alone };
  const limit = new AbortController();
  let problem = "";
  try {
    const late = delay(limitMs, undefined, { signal: limit.signal }).then(() => {
      throw new Error(`not within ${limitMs / 1000} s`);
    });
    await Promise.race([compare(peers, many, apart), late]);
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
    for (const { process } of peers.servers) process.kill("SIGKILL");
  } finally {
    limit.abort();
    await Promise.race([peers.stack.disposeAsync(), delay(endMs)]);
  }
  return resultOf(many, apart, problem);
}

function resultOf(many: Measured, apart: Measured, problem: string): BenchResult {
  const { what: _, ...measured } = many;
  const perPipe = ({ workersOwnMb = Number.NaN, pipes }: Measured) => workersOwnMb / pipes;
  const ratio = perPipe(apart) / perPipe(many);
  return {
    rows: [apart, many],
    summary: {
      ...{ ratio: Number.isNaN(ratio) ? 0 : round(ratio), ...measured },
      ...(problem === "" ? {} : { problem }),
    },
  };
}

/** Fills in what it measures as soon as it is known. */
async function compare(peers: Peers, many: Measured, apart: Measured): Promise<void> {
  const kafka = peers.stack.use(await startKafka({ heapMb: 512 }));
  const store = peers.stack.use(await startFauxqs());
  await fillTopics(kafka);
  const fleet = await startFleet(peers, store, kafka.brokers, pipeCount, {});
  Object.assign(many, fleet.facts);
  await measureAll(fleet, many);
  await fleet.served.stop();
  const other = await startFleet(peers, store, kafka.brokers, alone, { MILLRACE_PIPE_WORKERS: String(alone) });
  Object.assign(apart, other.facts, memoryOfAll(other));
}

async function fillTopics(kafka: { readonly brokers: string }): Promise<void> {
  await using tool = new KafkaTool(kafka);
  for (let at = 0; at < topics; at += 1) {
    await tool.topic(`topic-${at}`);
    await tool.send(orders(`topic-${at}`, 0, rowsPerSource));
  }
}

type Fleet = { readonly served: Served; readonly services: readonly BenchService[] };

/** Half of the pipes read objects, half of them topics. Resolves when all run and have loaded. */
async function startFleet(
  { stack, servers }: Peers,
  store: TestStore,
  brokers: string,
  pipes: number,
  env: Record<string, string>,
) {
  const given = { MILLRACE_PIPES_PER_ORGANIZATION: "1000", ...env };
  const first = await serve({ env: given, keepData: true });
  servers.push(first);
  stack.defer(() => first[Symbol.asyncDispose]());
  const size = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, idleScaling: false };
  const services = await Promise.all(Array.from({ length: awake }, () => runningService(first, size)));
  await first.stop();
  const bodies: PipeBody[] = [];
  for (let at = 0; at < pipes; at += 1) bodies.push(await bodyOf(store, brokers, at));
  await seed(first.dataDir, services, bodies, 100 - awake);
  const begun = performance.now();
  const served = await serve({ env: given, dataDir: first.dataDir });
  servers.push(served);
  stack.use(served);
  await allRunning(served, services, pipes);
  const runningSeconds = round((performance.now() - begun) / 1000, 1);
  const { control, workers, engines } = fleetOf(served, services);
  const startCpuSeconds = round(cpuMsOf([control, ...workers, ...engines]) / 1000, 1);
  await until("all rows", async () => (await loaded(services)) >= pipes * rowsPerSource, limitMs);
  await delay(settleMs);
  const count = await loaded(services);
  if (count !== pipes * rowsPerSource) throw new Error(`${count} rows of ${pipes * rowsPerSource}`);
  return { served, services, facts: { runningSeconds, startCpuSeconds } };
}

async function measureAll(fleet: Fleet, into: Partial<Facts>): Promise<void> {
  Object.assign(into, memoryOfAll(fleet));
  Object.assign(into, await idleOf(fleet));
  into.listMs = await listMs(fleet.served, fleet.services);
}

async function bodyOf(store: TestStore, brokers: string, at: number): Promise<PipeBody> {
  const table = `pipe_${at}`;
  if (at % 2 === 0) return kafkaBody({ brokers }, `topic-${(at / 2) % topics}`, table);
  await store.put(`p${at}/0.json`, rows(0, rowsPerSource));
  return pipeBody(store, `p${at}/*.json`, table, { source: { isContinuous: true } });
}

/** Resolves when all pipes run. */
async function allRunning(served: Served, services: readonly BenchService[], pipes: number): Promise<void> {
  let seen = "";
  const all = async () => {
    const states = new Map<string, number>();
    for (const { params } of services) {
      for (const { state, lastError = "" } of await served.api.listPipes({ params })) {
        const shown = `${state} ${lastError}`.trim();
        states.set(shown, (states.get(shown) ?? 0) + 1);
      }
    }
    seen = JSON.stringify(Object.fromEntries(states));
    await delay(200);
    return states.get("Running") === pipes;
  };
  await until("all pipes run", all, 180_000).catch((error: Error) => {
    throw new Error(`${error.message}; ${seen}`);
  });
}

async function loaded(services: readonly BenchService[]): Promise<number> {
  let sum = 0;
  for (const service of services) {
    const sql = "SELECT sum(total_rows) FROM system.tables WHERE database = 'default' AND match(name, '^pipe_[0-9]+$')";
    sum += Number(await query(service, sql));
  }
  return sum;
}

/**
 * PSS counts a page that processes share once. RSS counts the engine's library and Node again for each of them.
 */
function memoryOfAll({ served, services }: Fleet) {
  const { control, workers, engines } = fleetOf(served, services);
  const [ofControl, ofWorkers, ofEngines] = [[control], workers, engines].map((pids) => memoryOf(pids)) as [
    Memory,
    Memory,
    Memory,
  ];
  const sumOf = (part: "rss" | "pss") => Math.round(ofControl[part] + ofWorkers[part] + ofEngines[part]);
  return {
    processes: workers.length,
    ...{ rssMb: sumOf("rss"), pssMb: sumOf("pss") },
    ...{ controlRssMb: Math.round(ofControl.rss), controlPssMb: Math.round(ofControl.pss) },
    ...{ enginesRssMb: Math.round(ofEngines.rss), enginesPssMb: Math.round(ofEngines.pss) },
    ...{ workersRssMb: Math.round(ofWorkers.rss), workersOwnMb: Math.round(ofWorkers.own) },
  };
}

/** Processor time of a time without data, in percent of a processor. */
async function idleOf({ served, services }: Fleet) {
  const { control, workers, engines } = fleetOf(served, services);
  const groups = [[control], workers, engines];
  const before = groups.map((pids) => cpuMsOf(pids));
  const begun = performance.now();
  await delay(idleMs);
  const took = performance.now() - begun;
  const [controlPercent, workersPercent, enginesPercent] = groups.map((pids, at) =>
    round(((cpuMsOf(pids) - (before[at] as number)) / took) * 100, 1),
  ) as [number, number, number];
  return { idlePercent: round(controlPercent + workersPercent, 1), controlPercent, workersPercent, enginesPercent };
}

/** The 95th percentile of lists of services and pipes, in ms. */
async function listMs(served: Served, services: readonly BenchService[]): Promise<number> {
  const samples: number[] = [];
  const [{ params }] = services as [BenchService];
  for (let at = 0; at < lists; at += 1) {
    for (const work of [
      () => served.api.listServices({ params: { organizationId: params.organizationId } }),
      () => served.api.listPipes({ params: (services[at % services.length] as BenchService).params }),
    ]) {
      const begun = performance.now();
      await work();
      samples.push(performance.now() - begun);
    }
    // Samples of pipes change meanwhile, so that answers are not all cached ones.
    await delay(100);
  }
  return round(percentile(samples, 95), 1);
}
