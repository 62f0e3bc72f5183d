/** What many pipes take: time until all run, memory, processor time at rest, and the time of lists. */
import { setTimeout as delay } from "node:timers/promises";
import { startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../harness/kafka/pipes.ts";
import { startFauxqs, type TestStore } from "../harness/objects/pipe-stores.ts";
import { type PipeBody, pipeBody, rows } from "../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import { type BenchResult, percentile, round } from "./bench.ts";
import { cpuMsOf, fleetOf, memoryOf, seed } from "./fleet.ts";

export const description =
  "1,000 pipes on 100 services, 10 awake: all running <= 60 s, RSS <= 4 GB, <= 10 % of a core at rest, lists <= 100 ms; ratio: memory of a pipe in a process of its own against one of many";

const goals = { runningSeconds: 60, rssMb: 4_096, idlePercent: 10, listMs: 100 };
const awake = 10;
/** For the comparison: as many processes as pipes. */
const alone = 20;
const topics = 50;
const rowsPerSource = 10;
const settleMs = 15_000;
const idleMs = 20_000;
const lists = 60;

export async function run(): Promise<BenchResult> {
  await using kafka = await startKafka({ heapMb: 512 });
  await using store = await startFauxqs();
  await fillTopics(kafka);
  const apart = await measure(store, kafka.brokers, alone, { MILLRACE_PIPE_WORKERS: String(alone) });
  const many = await measure(store, kafka.brokers, 1_000, {});
  const perPipe = ({ workers, pipes }: Measured) => workers.own / pipes;
  const ok =
    many.runningSeconds <= goals.runningSeconds &&
    many.rssMb <= goals.rssMb &&
    many.idlePercent <= goals.idlePercent &&
    many.listMs <= goals.listMs;
  const { workers, ...rest } = many;
  return {
    rows: [row("a process per pipe", apart), row("shared processes", many)],
    summary: {
      ratio: round(perPipe(apart) / perPipe(many)),
      ...rest,
      workersRssMb: workers.rss,
      workersOwnMb: workers.own,
      ok,
    },
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;

function row(what: string, { workers, ...measured }: Measured) {
  return { what, ...measured, workersRssMb: workers.rss, workersOwnMb: workers.own };
}

export async function fillTopics(kafka: { readonly brokers: string }): Promise<void> {
  await using tool = new KafkaTool(kafka);
  for (let at = 0; at < topics; at += 1) {
    await tool.topic(`topic-${at}`);
    await tool.send(orders(`topic-${at}`, 0, rowsPerSource));
  }
}

/** Half of the pipes read objects, half of them topics. */
export async function measure(store: TestStore, brokers: string, pipes: number, env: Record<string, string>) {
  const given = { MILLRACE_PIPES_PER_ORGANIZATION: "1000", ...env };
  const first = await serve({ env: given, keepData: true });
  const services: BenchService[] = [];
  const size = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, idleScaling: false };
  for (let at = 0; at < awake; at += 1) services.push(await runningService(first, size));
  await first.stop();
  const bodies: PipeBody[] = [];
  for (let at = 0; at < pipes; at += 1) bodies.push(await bodyOf(store, brokers, at));
  await seed(first.dataDir, services, bodies, 100 - awake);
  const begun = performance.now();
  await using served = await serve({ env: given, dataDir: first.dataDir });
  const states = await allRunning(served, services, pipes);
  const runningSeconds = round((performance.now() - begun) / 1000, 1);
  const { control, workers, engines } = fleetOf(served, services);
  const startCpuSeconds = round(cpuMsOf([control, ...workers, ...engines]) / 1000, 1);
  await until("all rows", async () => (await loaded(services)) >= pipes * rowsPerSource, 120_000);
  await delay(settleMs);
  const count = await loaded(services);
  if (count !== pipes * rowsPerSource) throw new Error(`${count} rows of ${pipes * rowsPerSource}: ${states}`);
  return {
    pipes,
    runningSeconds,
    startCpuSeconds,
    ...(await atRest(served, services)),
    listMs: await listMs(served, services),
  };
}

async function bodyOf(store: TestStore, brokers: string, at: number): Promise<PipeBody> {
  const table = `pipe_${at}`;
  if (at % 2 === 0) return kafkaBody({ brokers }, `topic-${(at / 2) % topics}`, table);
  await store.put(`p${at}/0.json`, rows(0, rowsPerSource));
  return pipeBody(store, `p${at}/*.json`, table, { source: { isContinuous: true } });
}

/** Resolves when all pipes run; returns how many are in each state. */
async function allRunning(served: Served, services: readonly BenchService[], pipes: number): Promise<string> {
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
  await until("all pipes run", all, 240_000).catch((error: Error) => {
    throw new Error(`${error.message}; ${seen}`);
  });
  return seen;
}

async function loaded(services: readonly BenchService[]): Promise<number> {
  let sum = 0;
  for (const service of services) {
    const sql = "SELECT sum(total_rows) FROM system.tables WHERE database = 'default' AND match(name, '^pipe_[0-9]+$')";
    sum += Number(await query(service, sql));
  }
  return sum;
}

async function atRest(served: Served, services: readonly BenchService[]) {
  const { control, workers, engines } = fleetOf(served, services);
  const groups = [[control], workers, engines];
  const before = groups.map((pids) => cpuMsOf(pids));
  await delay(idleMs);
  const [controlPercent, workersPercent, enginesPercent] = groups.map((pids, at) =>
    round(((cpuMsOf(pids) - (before[at] as number)) / idleMs) * 100, 1),
  ) as [number, number, number];
  const memory = groups.map((pids) => memoryOf(pids));
  const sumOf = (part: "rss" | "pss") => Math.round(memory.reduce((sum, group) => sum + group[part], 0));
  const [ofControl, ofWorkers, ofEngines] = memory.map(({ rss, own }) => ({
    rss: Math.round(rss),
    own: Math.round(own),
  }));
  return {
    processes: workers.length,
    rssMb: sumOf("rss"),
    pssMb: sumOf("pss"),
    controlRssMb: ofControl?.rss ?? 0,
    enginesRssMb: ofEngines?.rss ?? 0,
    workers: ofWorkers as { rss: number; own: number },
    idlePercent: round(controlPercent + workersPercent, 1),
    ...{ controlPercent, workersPercent, enginesPercent },
  };
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
