/**
 * Copying a table: a pipe from create to Completed, against one COPY by psql into /dev/null (`ratio`, ours in rows per
 * second), against two COPY whose bytes curl passes to a bare engine (`ofLeast`: nothing is remembered, and no row is
 * safe from being doubled), and against the engine's own INSERT SELECT FROM postgresql(...) in a process of its own.
 */
import { tmpdir } from "node:os";
import { BareEngine as BareServer } from "../harness/engine/bare-engine.ts";
import { cdcPipe } from "../harness/postgres/pipes.ts";
import { literal } from "../src/clickhouse/sql.ts";
import { type BenchResult, type Cost, costOf, costRow, cpuUsOf, leastCost, round } from "./bench.ts";
import {
  BareEngine,
  copyToEngine,
  copyToNowhere,
  count,
  type PostgresBench,
  secondsUntil,
  startPostgresBench,
} from "./postgres.ts";

export const description =
  "rows per second of a snapshot, against COPY to nowhere and against the engine's postgresql()";

const rows = Number(process.env.ROWS ?? 3_000_000);
const rounds = 3;

export async function run(): Promise<BenchResult> {
  await using bench = await startPostgresBench();
  const { source } = bench;
  await source.sql(`CREATE TABLE events (id bigint PRIMARY KEY, account int NOT NULL, kind text NOT NULL,
      note text, amount numeric(12,2) NOT NULL, at timestamptz NOT NULL);
    INSERT INTO events SELECT i, i % 9973, 'kind ' || i % 17, md5(i::text), i / 7.0, timestamptz '2024-01-01' + i * interval '1 s'
      FROM generate_series(1, ${rows}) i;
    ANALYZE events`);
  await source.sql("VACUUM events");
  const copy: Cost[] = [];
  const least: Cost[] = [];
  const pipe: Cost[] = [];
  const engine: Cost[] = [];
  for (let at = 0; at < rounds; at += 1) {
    copy.push(
      await costOf(() => copyToNowhere(source, "COPY events TO STDOUT"), { without: bench.served.process.pid }),
    );
    least.push(await timeLeast(bench));
    pipe.push(await timePipe(bench, at));
    engine.push(await timeEngine(bench));
  }
  const [copied, minimal, piped, inserted] = [copy, least, pipe, engine].map((costs) => leastCost(costs).seconds) as [
    number,
    number,
    number,
    number,
  ];
  return {
    rows: [
      costRow("psql: COPY to /dev/null, one connection, with the server", copy, rows),
      costRow("psql and curl: two COPY into a bare engine, with the server", least, rows),
      costRow("pipe, from create to Completed", pipe, rows),
      costRow("engine: INSERT SELECT FROM postgresql()", engine, rows),
    ],
    summary: {
      ratio: round(copied / piped, 3),
      ofLeast: round(minimal / piped, 3),
      ratioToEngine: round(inserted / piped, 3),
      rows,
      pipeRowsPerSecond: Math.round(rows / piped),
      cpuUs: cpuUsOf(pipe, rows),
    },
  };
}

async function timePipe(bench: PostgresBench, at: number): Promise<Cost> {
  const mappings = [{ sourceSchemaName: "public", sourceTable: "events", targetTable: `events_${at}` }];
  const settings = { replicationMode: "snapshot" };
  const copied = async () => {
    const pipeId = await cdcPipe(bench.served, bench.service, bench.source, ["events"], { settings, mappings });
    await secondsUntil(bench, pipeId, ({ state }) => state === "Completed");
  };
  const cost = await costOf(copied, { pid: bench.served.process.pid });
  const found = await count(bench, `SELECT count() FROM events_${at}`);
  if (found !== rows) throw new Error(`${found} rows instead of ${rows}`);
  return cost;
}

const destination = `(id Int64, account Int32, kind String, note Nullable(String), amount Decimal(12, 2),
  at DateTime64(6, 'UTC'), _version UInt128, _deleted UInt8) ENGINE = ReplacingMergeTree(_version) ORDER BY id`;

async function timeLeast({ source, served }: PostgresBench): Promise<Cost> {
  await using engine = await BareServer.start([], { folder: tmpdir() });
  await engine.client.text(`CREATE TABLE events ${destination}`);
  const columns = "id, account, kind, note, amount, at";
  const half = rows / 2;
  const copies = ["<=", ">"].map((side) => `COPY (SELECT ${columns} FROM events WHERE id ${side} ${half}) TO STDOUT`);
  const insert = `INSERT INTO events (${columns}) FORMAT TabSeparated`;
  const to = engine.addressOf("default");
  const copied = () => Promise.all(copies.map((sql) => copyToEngine(source, sql, to, insert)));
  const cost = await costOf(copied, { without: served.process.pid });
  const found = await engine.client.text("SELECT count() FROM events");
  if (Number(found) !== rows) throw new Error(`${found} rows instead of ${rows}`);
  return cost;
}

async function timeEngine({ source }: PostgresBench): Promise<Cost> {
  using engine = await BareEngine.start();
  await engine.run(`CREATE TABLE events ${destination}`);
  const from = [`${source.host}:${source.port}`, source.database, "events", source.user, source.password].map(literal);
  const insert = `INSERT INTO events SELECT id, account, kind, note, amount, at, 0, 0 FROM postgresql(${from.join(", ")})`;
  return await costOf(() => engine.run(insert), { pid: engine.pid });
}
