/**
 * Object storage pipes under random kills: worker, engine host and control plane are killed with -9 at random moments,
 * settings are edited and objects arrive late, and in the end every row is there exactly once, in the tables and in a
 * materialized view of them. `SEED` repeats a run, `SECONDS` bounds it (default 90). With `REPLICAS=3` pipes have up to
 * three workers, whose number changes during the run.
 */
import { setTimeout as delay } from "node:timers/promises";
import { assertAccounted } from "../harness/accounting.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { kill, retried, revive } from "../harness/chaos.ts";
import { startVersitygw, type TestStore } from "../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody } from "../harness/pipes.ts";
import { random } from "../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";

export const description = "object storage pipes stay exactly-once under kill -9 of worker, engine and control plane";

const seconds = numberOf("SECONDS", 90);
const maxReplicas = Number(process.env.REPLICAS ?? 1);
const seed = seedOf();

type Run = { served: Served; service: BenchService; store: TestStore; next: () => number; engineKills: number[] };

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds} REPLICAS=${maxReplicas}`);
  await using store = await startVersitygw();
  const state: Run = { store, next: random(seed), engineKills: [], ...(await start()) };
  try {
    return await injectFaults(state);
  } finally {
    await state.served[Symbol.asyncDispose]();
  }
}

async function start(): Promise<{ served: Served; service: BenchService }> {
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: "error", MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  return { served, service };
}

const largeFiles = 2;
/** More than fits into one block, in every format. */
const largeRows = 3_500_000;

const formats = [
  { name: "JSONEachRow", suffix: "json" },
  { name: "CSVWithNames", suffix: "csv" },
  { name: "Parquet", suffix: "parquet" },
] as const;

async function injectFaults(state: Run): Promise<Record<string, string | number>> {
  const expected = new Map<string, number>();
  const pipes = new Map<string, string>();
  let nextId = 0;
  for (const { name, suffix } of formats) {
    await query(
      state.service,
      `CREATE TABLE ${suffix} (id UInt64, name String) ENGINE = MergeTree PARTITION BY id % 3 ORDER BY id`,
    );
    await query(
      state.service,
      `CREATE TABLE ${suffix}_sum (k UInt8, c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY k`,
    );
    await query(
      state.service,
      `CREATE MATERIALIZED VIEW ${suffix}_view TO ${suffix}_sum AS SELECT id % 7 AS k, count() AS c, sum(id) AS s FROM ${suffix} GROUP BY k`,
    );
    expected.set(suffix, 0);
    // Large objects of many blocks each: a kill during one of them leaves some of its blocks in the table.
    for (let file = 0; file < largeFiles; file += 1) {
      nextId = await upload(
        state,
        name,
        suffix,
        `0000-large-${file}`,
        nextId,
        suffix === "parquet" ? 2 * largeRows : largeRows,
        expected,
      );
    }
    const body = pipeBody(state.store, `${suffix}/*.${suffix}`, suffix, {
      source: { isContinuous: true },
      destination: { managedTable: false, tableDefinition: null },
      body: {
        settings: {
          object_storage_polling_interval_ms: 300,
          object_storage_max_file_count: 7,
          // Small blocks, so that a kill interrupts a statement.
          database_min_insert_block_size_bytes: 4_000_000,
        },
      },
    });
    pipes.set(suffix, await createPipe(state.served, state.service, body));
  }
  const kills: Record<string, number> = { worker: 0, engine: 0, control: 0 };
  const deadline = Date.now() + seconds * 1000;
  // At first only kills, while the large objects are loaded.
  while (Date.now() < deadline - (seconds * 1000) / 2) {
    await delay(700 + state.next() * 1800);
    await injectFault(state, pipes, kills);
    if (maxReplicas > 1 && state.next() < 0.2) await scale(state, pipes);
  }
  for (let round = 0; Date.now() < deadline; round += 1) {
    const { name, suffix } = formats[Math.floor(state.next() * formats.length)] as (typeof formats)[number];
    // Every third key is smaller than what was loaded before.
    const key = state.next() < 0.33 ? `0001-late-${round}` : `${String(1000 + round)}-small`;
    await retried(async () => {
      await revive(state.served, state.service, pipes.values());
      nextId = await upload(state, name, suffix, key, nextId, 1 + Math.floor(state.next() * 3000), expected);
    });
    await delay(200 + state.next() * 1500);
    await injectFault(state, pipes, kills);
    if (round % 5 === 4) await edit(state, pipes.get(suffix) as string);
    if (maxReplicas > 1 && round % 4 === 3) await scale(state, pipes);
  }
  await revive(state.served, state.service, pipes.values());
  return await verify(state, pipes, expected, kills);
}

async function upload(
  state: Run,
  format: string,
  suffix: string,
  key: string,
  from: number,
  count: number,
  expected: Map<string, number>,
): Promise<number> {
  const target = `s3('${state.store.url(`${suffix}/${key}.${suffix}`)}', 'AKTEST', 'SK-of-pipe-tests\\'\\\\x', '${format}')`;
  await query(
    state.service,
    `INSERT INTO FUNCTION ${target} SELECT number AS id, concat('name ', toString(number)) AS name FROM numbers(${from}, ${count}) SETTINGS s3_truncate_on_insert = 1`,
  );
  expected.set(suffix, (expected.get(suffix) ?? 0) + count);
  return from + count;
}

async function injectFault(
  state: Run,
  pipes: ReadonlyMap<string, string>,
  kills: Record<string, number>,
): Promise<void> {
  await revive(state.served, state.service, pipes.values());
  const dice = state.next();
  // A service is given up when its engine dies six times in a row without a stable minute: stay below that.
  state.engineKills = state.engineKills.filter((at) => Date.now() - at < 70_000);
  const spareEngine = state.engineKills.length >= 4;
  if (dice < 0.3 || (spareEngine && dice < 0.75)) {
    const ids = [...pipes.values()];
    const id = ids[Math.floor(state.next() * ids.length)] as string;
    const index = Math.floor(state.next() * maxReplicas);
    const name = index === 0 ? id : `${id}.${index}`;
    if (kill(`${state.served.dataDir}/pipes/${name}.pid`)) kills.worker = (kills.worker ?? 0) + 1;
  } else if (dice < 0.75) {
    if (kill(`${state.served.dataDir}/services/${state.service.id}/engine.pid`)) {
      kills.engine = (kills.engine ?? 0) + 1;
      state.engineKills.push(Date.now());
    }
  } else if (dice < 0.9) {
    state.served = await state.served.restartAfterKill();
    kills.control = (kills.control ?? 0) + 1;
  }
}

async function edit(state: Run, pipeId: string): Promise<void> {
  const body = {
    object_storage_max_file_count: 1 + Math.floor(state.next() * 20),
    database_min_insert_block_size_bytes: 2_000_000 + Math.floor(state.next() * 8_000_000),
    object_storage_concurrency: 1 + Math.floor(state.next() * 4),
  };
  await state.served.api.updatePipeSettings({ params: { ...state.service.params, pipeId }, body });
}

/** Changes the number of workers of one of the pipes. */
async function scale(state: Run, pipes: ReadonlyMap<string, string>): Promise<void> {
  const ids = [...pipes.values()];
  const pipeId = ids[Math.floor(state.next() * ids.length)] as string;
  const body = { replicas: 1 + Math.floor(state.next() * maxReplicas) };
  await state.served.api.updatePipeScaling({ params: { ...state.service.params, pipeId }, body });
}

async function verify(
  state: Run,
  pipes: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, number>,
  kills: Readonly<Record<string, number>>,
): Promise<Record<string, string | number>> {
  let total = 0;
  for (const [suffix, count] of expected) {
    const look = () => query(state.service, `SELECT count(), uniqExact(id), sum(id) FROM ${suffix}`).catch(() => "");
    await until(`${suffix} is complete`, async () => Number((await look()).split("\t")[0]) >= count, 120_000).catch(
      async (error: Error) => {
        const pipe = await details(state.served, state.service, pipes.get(suffix) as string);
        throw new Error(
          `${error.message}: ${await look()} of ${count}; ${pipe.state} ${pipe.lastError ?? ""} SEED=${seed}`,
        );
      },
    );
    // Time for duplicates to arrive.
    await delay(1_500);
    const [rows, distinct, sum] = (await look()).split("\t");
    const view = await query(state.service, `SELECT sum(c), sum(s) FROM ${suffix}_sum`);
    const seen = `${suffix}: ${rows} rows, ${distinct} distinct, view ${view}`;
    console.log(`${seen}; expected ${count}`);
    if (Number(rows) !== count || Number(distinct) !== count || view !== `${rows}\t${sum}`) {
      throw new Error(`${seen}; expected ${count}. SEED=${seed}`);
    }
    // All rows of a large object are counted when its last block is durable.
    await assertAccounted(state.served, state.service, pipes.get(suffix) as string, {
      fetchedRows: count,
      sentRows: count,
    });
    total += count;
  }
  return { rows: total, seed, ...kills };
}
