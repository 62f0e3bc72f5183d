/**
 * Draining a backlog of inserts and updates: a pipe, from its start until everything is readable, against
 * pg_recvlogical that writes the same slot's messages to /dev/null (`ratio`, ours in changes per second), and against
 * the engine's own MaterializedPostgreSQL in a process of its own.
 */

import { untilState } from "../harness/pipes.ts";
import { cdcPipe } from "../harness/postgres/pipes.ts";
import { literal } from "../src/clickhouse/sql.ts";
import { type BenchResult, type Cost, costOf, costRow, cpuUsOf, leastCost, round } from "./bench.ts";
import { BareEngine, count, type PostgresBench, readSlot, secondsUntil, startPostgresBench, tool } from "./postgres.ts";

export const description =
  "draining a backlog of inserts and updates, against pg_recvlogical and MaterializedPostgreSQL";

const inserts = Number(process.env.ROWS ?? 2_000_000);
const updates = inserts / 2;
const rounds = 2;
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
  const stop = async () => {
    await bench.served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(bench.served, bench.service, pipeId, "Stopped");
  };
  await stop();
  using engine = await BareEngine.start();
  const materialized = await prepareMaterialized(bench, engine);
  const pid = bench.served.process.pid;
  const changes = inserts + updates;
  const all = `SELECT countIf(n = 1) + count() FROM events_current`;
  const recv: Cost[] = [];
  const pipe: Cost[] = [];
  let peer: Cost | undefined;
  for (let round = 0; round < rounds; round += 1) {
    await writeBacklog(bench, round * inserts);
    const [position] = await source.sql("SELECT pg_current_wal_lsn()::text AS lsn");
    const read = () => readSlot(reader, source, "peer", "peer", String(position?.lsn));
    recv.push(await costOf(read, { without: pid }));
    const wanted = (round + 1) * changes;
    // The rows are counted only when the pipe reports them, because a count costs as much as a batch.
    const drained = async () => {
      await bench.served.api.updatePipeState({ params, body: { command: "start" } });
      await secondsUntil(
        bench,
        pipeId,
        async ({ progress: { sentRows = 0 } }) => sentRows > wanted && (await count(bench, all)) === wanted + 1,
      );
    };
    pipe.push(await costOf(drained, { pid }));
    await stop();
    if (materialized !== undefined || round > 0) continue;
    peer = await timeMaterialized(engine);
    engine.pause();
  }
  const { seconds } = leastCost(pipe);
  const noPeer = materialized ?? `not within ${materializedLimitMs / 1000} s`;
  const what = "engine: MaterializedPostgreSQL";
  return {
    rows: [
      costRow("pg_recvlogical to /dev/null, with the server", recv, changes, "changes"),
      costRow("pipe, from start to readable", pipe, changes, "changes"),
      peer === undefined ? { what, "changes per second": noPeer } : costRow(what, [peer], changes, "changes"),
    ],
    summary: {
      ratio: round(leastCost(recv).seconds / seconds, 3),
      ratioToMaterialized: peer === undefined ? "none" : round(peer.seconds / seconds, 3),
      changes,
      pipeChangesPerSecond: Math.round(changes / seconds),
      cpuUs: cpuUsOf(pipe, changes),
    },
  };
}

/** Transactions of ten thousand changes each, as a loader would write them. */
async function writeBacklog({ source }: PostgresBench, after: number): Promise<void> {
  await using client = await source.client();
  for (let from = after + 1; from <= after + inserts; from += perTransaction) {
    await client.query(`INSERT INTO events SELECT i, i % 9973, 'kind ' || i % 17, md5(i::text), 0
      FROM generate_series(${from}, ${Math.min(from + perTransaction - 1, after + inserts)}) i`);
  }
  for (let from = after + 1; from <= after + updates; from += perTransaction) {
    await client.query(
      `UPDATE events SET n = 1 WHERE id BETWEEN ${from} AND ${Math.min(from + perTransaction - 1, after + updates)}`,
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

async function timeMaterialized(engine: BareEngine): Promise<Cost | undefined> {
  await engine.resume();
  const deadline = performance.now() + materializedLimitMs;
  const done = `(SELECT countIf(n = 1) + count() FROM peer.events) = ${inserts + 1 + updates}`;
  const copied = async () => {
    while (!(await engine.holds(done)) && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };
  const cost = await costOf(copied, { pid: engine.pid });
  return performance.now() < deadline ? cost : undefined;
}
