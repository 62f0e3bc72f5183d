/**
 * Draining a backlog of inserts and updates: a pipe, from its start until everything is readable, against
 * pg_recvlogical that writes the same slot's messages to /dev/null (`ratio`, ours in changes per second), and against
 * the engine's own MaterializedPostgreSQL in a process of its own.
 */

import { untilState } from "../harness/pipes.ts";
import { cdcPipe } from "../harness/postgres/pipes.ts";
import { literal } from "../src/clickhouse/sql.ts";
import { type BenchResult, round } from "./bench.ts";
import {
  BareEngine,
  count,
  type PostgresBench,
  secondsUntil,
  startPostgresBench,
  timeRecvlogical,
  tool,
} from "./postgres.ts";

export const description =
  "draining a backlog of inserts and updates, against pg_recvlogical and MaterializedPostgreSQL";

const inserts = Number(process.env.ROWS ?? 2_000_000);
const updates = inserts / 2;
const perTransaction = 10_000;
const materializedLimitMs = 120_000;

export async function run(): Promise<BenchResult> {
  const reader = tool("pg_recvlogical");
  if (reader === undefined) throw new Error("no pg_recvlogical on this machine (package postgresql-client)");
  await using bench = await startPostgresBench();
  const { source } = bench;
  await source.sql(`CREATE TABLE events (id bigint PRIMARY KEY, account int NOT NULL, kind text NOT NULL, note text, n int);
    INSERT INTO events VALUES (0, 0, 'first', NULL, 0)`);
  await source.sql("CREATE PUBLICATION peer FOR TABLE events");
  await source.sql("SELECT pg_create_logical_replication_slot('peer', 'pgoutput')");
  const pipeId = await cdcPipe(bench.served, bench.service, source, ["events"], {
    settings: { pullBatchSize: 200_000 },
  });
  await untilState(bench.served, bench.service, pipeId, "Running");
  await secondsUntil(bench, pipeId, async () => (await count(bench, "SELECT count() FROM events_current")) === 1);
  const params = { ...bench.service.params, pipeId };
  await bench.served.api.updatePipeState({ params, body: { command: "stop" } });
  await untilState(bench.served, bench.service, pipeId, "Stopped");
  using engine = await BareEngine.start();
  const materialized = await prepareMaterialized(bench, engine);
  await writeBacklog(bench);
  const [position] = await source.sql("SELECT pg_current_wal_lsn()::text AS lsn");
  const recv = await timeRecvlogical(reader, source, "peer", "peer", String(position?.lsn));
  const started = performance.now();
  await bench.served.api.updatePipeState({ params, body: { command: "start" } });
  const all = `SELECT countIf(n = 1) + count() FROM events_current`;
  // The rows are counted only when the pipe reports them, because a count costs as much as a batch.
  await secondsUntil(
    bench,
    pipeId,
    async ({ progress: { sentRows = 0 } }) =>
      sentRows > inserts + updates && (await count(bench, all)) === inserts + 1 + updates,
  );
  const pipe = (performance.now() - started) / 1000;
  await bench.served.api.updatePipeState({ params, body: { command: "stop" } });
  const peer = materialized === undefined ? await timeMaterialized(engine) : undefined;
  const changes = inserts + updates;
  const row = (what: string, seconds: number | undefined) => ({
    what,
    seconds: seconds === undefined ? "-" : round(seconds),
    changesPerSecond:
      seconds === undefined
        ? (materialized ?? `not within ${materializedLimitMs / 1000} s`)
        : Math.round(changes / seconds),
  });
  return {
    rows: [
      row("pg_recvlogical to /dev/null", recv),
      row("pipe, from start to readable", pipe),
      row("engine: MaterializedPostgreSQL", peer),
    ],
    summary: {
      ratio: round(recv / pipe, 3),
      ratioToMaterialized: peer === undefined ? "none" : round(peer / pipe, 3),
      changes,
      pipeChangesPerSecond: Math.round(changes / pipe),
    },
  };
}

/** Transactions of ten thousand changes each, as a loader would write them. */
async function writeBacklog({ source }: PostgresBench): Promise<void> {
  await using client = await source.client();
  for (let from = 1; from <= inserts; from += perTransaction) {
    await client.query(`INSERT INTO events SELECT i, i % 9973, 'kind ' || i % 17, md5(i::text), 0
      FROM generate_series(${from}, ${Math.min(from + perTransaction - 1, inserts)}) i`);
  }
  for (let from = 1; from <= updates; from += perTransaction) {
    await client.query(
      `UPDATE events SET n = 1 WHERE id BETWEEN ${from} AND ${Math.min(from + perTransaction - 1, updates)}`,
    );
  }
}

/**
 * Why it cannot be measured, or undefined. It has copied the first row, and is paused until the backlog is complete.
 */
async function prepareMaterialized({ source }: PostgresBench, engine: BareEngine): Promise<string | undefined> {
  const address = [`${source.host}:${source.port}`, source.database, source.user, source.password].map(literal);
  try {
    await engine.run("SET allow_experimental_database_materialized_postgresql = 1");
    await engine.run(`CREATE DATABASE peer ENGINE = MaterializedPostgreSQL(${address.join(", ")})
      SETTINGS materialized_postgresql_tables_list = 'events', materialized_postgresql_max_block_size = 65536`);
    const deadline = performance.now() + 20_000;
    while (!(await engine.holds("(SELECT count() FROM peer.events) = 1"))) {
      if (performance.now() > deadline) return "did not copy its first row within 20 s";
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    engine.pause();
    return undefined;
  } catch (error) {
    return `cannot: ${(error as Error).message.slice(0, 120)}`;
  }
}

async function timeMaterialized(engine: BareEngine): Promise<number | undefined> {
  const started = performance.now();
  await engine.resume();
  const done = `(SELECT countIf(n = 1) + count() FROM peer.events) = ${inserts + 1 + updates}`;
  while (!(await engine.holds(done))) {
    if (performance.now() - started > materializedLimitMs) return undefined;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return (performance.now() - started) / 1000;
}
