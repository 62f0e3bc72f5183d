/** Shared by the object storage benchmarks: a real S3 server, a service, files, a pipe's time and the engine's own. */
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { BareEngine } from "../harness/engine/bare-engine.ts";
import { accessKey, startVersitygw, type TestStore } from "../harness/objects/pipe-stores.ts";
import { versitygwMissing } from "../harness/objects/versitygw.ts";
import { columns, createPipe, type PipeBody, pipeBody } from "../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../harness/serve.ts";
import { type BenchResult, bareFront, type Cost, costOf, costRow, cpuUsOf, leastCost, round } from "./bench.ts";

const memoryGb = 4;

export type ObjectsBench = AsyncDisposable & {
  readonly store: TestStore;
  readonly served: Served;
  readonly service: BenchService;
  /** An engine with the same memory, and without the address policy: none of our code sees the data. */
  readonly bare: BareEngine;
  /** The store behind a program that only passes bytes on: the least that an engine behind a proxy has to do. */
  readonly behind: Pick<TestStore, "url">;
};

export async function startObjectsBench(): Promise<ObjectsBench> {
  if (versitygwMissing !== undefined) throw new Error(versitygwMissing);
  const store = await startVersitygw();
  const served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const memory = { minReplicaMemoryGb: memoryGb, maxReplicaMemoryGb: memoryGb };
  const service = await runningService(served, { idleScaling: false, ...memory });
  const bare = await BareEngine.start([], { maxMemoryBytes: memoryGb * 2 ** 30, folder: tmpdir() });
  const { hostname, port, origin } = new URL(store.url(""));
  const front = await bareFront({ host: hostname, port: Number(port) });
  return {
    store,
    served,
    service,
    bare,
    behind: { url: (pattern) => store.url(pattern).replace(origin, `http://${hostname}:${front.port}`) },
    [Symbol.asyncDispose]: async () => {
      await bare[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The engine's table function for a pattern of the bench's bucket. */
export function s3Function(store: Pick<TestStore, "url">, pattern: string, format: string): string {
  const secret = accessKey.secretKey.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `s3('${store.url(pattern)}', '${accessKey.accessKeyId}', '${secret}', '${format}')`;
}

/** Writes `files` files of `rowsPerFile` rows each with the engine itself. */
export async function writeFiles(
  bench: ObjectsBench,
  format: string,
  suffix: string,
  files: number,
  rowsPerFile: number,
) {
  for (let file = 0; file < files; file += 1) {
    const target = s3Function(bench.store, `data/${String(file).padStart(3, "0")}.${suffix}`, format);
    const from = file * rowsPerFile;
    await query(
      bench.service,
      `INSERT INTO FUNCTION ${target} SELECT number AS id, concat('name ', toString(cityHash64(number) % 1000000)) AS name FROM numbers(${from}, ${rowsPerFile})`,
    );
  }
}

type Turns = Readonly<Record<"bare" | "behind" | "engine" | "pipe", Cost[]>>;

/** What is read, and how many rows it has. */
export type ObjectsWork = { readonly format: string; readonly pattern: string; readonly rows: number };

/**
 * A pipe, the engine's own insert of the same files, and the same of an engine without the address policy, also behind
 * a bare front, in turns: so many of them, because one swings by a tenth.
 */
export async function inTurns(bench: ObjectsBench, work: ObjectsWork, rounds: number): Promise<Turns> {
  const { bare, behind, store, served, service } = bench;
  const turns: Turns = { bare: [], behind: [], engine: [], pipe: [] };
  const without = { ...work, pid: bare.pid, ask: (sql: string) => bare.client.text(sql) };
  const own = { ...work, pid: served.process.pid, ask: (sql: string) => query(service, sql) };
  for (let turn = 0; turn < rounds; turn += 1) {
    turns.bare.push(await timeEngine(store, without));
    turns.behind.push(await timeEngine(behind, without));
    turns.engine.push(await timeEngine(store, own));
    turns.pipe.push(await timePipe(bench, work));
  }
  return turns;
}

/** The figures of so many rows or files. */
export function resultOf({ bare, behind, engine, pipe }: Turns, units: number, unit: "rows" | "files"): BenchResult {
  const secondsOf = (costs: readonly Cost[]) => leastCost(costs).seconds;
  const [bareSeconds, engineSeconds, pipeSeconds] = [secondsOf(bare), secondsOf(engine), secondsOf(pipe)];
  return {
    rows: [
      costRow("engine without the address policy", bare, units, unit),
      costRow("the same behind a front that only passes bytes on", behind, units, unit),
      costRow("engine of a service: INSERT SELECT FROM s3", engine, units, unit),
      costRow("pipe, from create to Completed", pipe, units, unit),
    ],
    summary: {
      ratio: round(bareSeconds / pipeSeconds, 3),
      policyRatio: round(bareSeconds / engineSeconds, 3),
      policyOfLeast: round(secondsOf(behind) / engineSeconds, 3),
      ...{ bareSeconds: round(bareSeconds), engineSeconds: round(engineSeconds), pipeSeconds: round(pipeSeconds) },
      ...{ bareCpuUs: cpuUsOf(bare, units), engineCpuUs: cpuUsOf(engine, units), pipeCpuUs: cpuUsOf(pipe, units) },
    },
  };
}

/**
 * From the response to `create` until the one-shot pipe is Completed, at the time that the server has for that: looking
 * at the pipe takes processors from it, and is therefore rare.
 */
export async function timePipe({ store, served, service }: ObjectsBench, work: ObjectsWork): Promise<Cost> {
  const table = "from_pipe";
  const id = await createPipe(served, service, pipeBody(store, work.pattern, table) as PipeBody);
  const begun = Date.now();
  let ended = 0;
  const completed = async () => {
    for (;;) {
      await delay(200);
      const { organizationId } = served.credentials;
      const { pipes } = await served.api.listAllPipes({ params: { organizationId }, query: {} as never });
      const pipe = pipes.find((one) => one.id === id);
      ended = Date.parse(pipe?.stateChangedAt ?? "");
      if (pipe?.state === "Completed") return;
      if (pipe?.state === "Failed") throw new Error(pipe.stateMessage);
    }
  };
  const { cpuSeconds } = await costOf(completed, { pid: served.process.pid });
  await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  await expectRows((sql) => query(service, sql), table, work.rows);
  return { seconds: (ended - begun) / 1000, cpuSeconds };
}

/** The engine's own `INSERT ... SELECT FROM s3(...)` on the same files into the same kind of table. */
async function timeEngine(
  store: Pick<TestStore, "url">,
  { ask, pid, format, pattern, rows }: EngineRun,
): Promise<Cost> {
  const table = "from_engine";
  const list = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  await ask(`CREATE TABLE ${table} (${list}) ENGINE = MergeTree ORDER BY id`);
  const source = s3Function(store, pattern, format).replace(/\)$/, `, '${list}')`);
  const cost = await costOf(() => ask(`INSERT INTO ${table} SELECT id, name FROM ${source}`), { pid });
  await expectRows(ask, table, rows);
  return cost;
}

type Ask = (sql: string) => Promise<string>;

/** `pid`: the process whose descendants do all of the work. */
type EngineRun = ObjectsWork & { readonly ask: Ask; readonly pid: number | undefined };

async function expectRows(ask: Ask, table: string, rows: number): Promise<void> {
  const seen = (await ask(`SELECT count(), uniqExact(id) FROM ${table}`)).trimEnd();
  if (seen !== `${rows}\t${rows}`) throw new Error(`${table} has ${seen} instead of ${rows}`);
  await ask(`DROP TABLE ${table} SYNC`);
}
