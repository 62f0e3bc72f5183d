/**
 * This version opens a data directory of an earlier one: pipes of every kind continue without loss or duplicates, also
 * with batches in progress when the earlier version was killed. MILLRACE_EARLIER_TREE names the tree of that version,
 * with its packages, such as one created by `git worktree add ../earlier 601ee8dc`.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { kafkaMissing, startKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { startKinesisLocal } from "../../../harness/kinesis/kinesis.ts";
import { events, kinesisPipe } from "../../../harness/kinesis/pipes.ts";
import { startTestStore } from "../../../harness/objects/object-store.ts";
import { columns, createPipe, details, rows, untilRows } from "../../../harness/pipes.ts";
import { cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { query, runningService, serve, until } from "../../../harness/serve.ts";

const tree = process.env.MILLRACE_EARLIER_TREE;
const missing =
  tree === undefined || !existsSync(join(tree, "src/main.ts"))
    ? "MILLRACE_EARLIER_TREE names no tree of an earlier version"
    : (kafkaMissing ?? postgresMissing(18));
if (missing !== undefined) console.warn(`upgrade of pipes: skipped, ${missing}`);

const part = 60_000;
const perFile = 5_000;

/** The intents in the ledger, read beside the running server. */
function intents(dataDir: string): { pipe: string; intent: string }[] {
  using db = new DatabaseSync(join(dataDir, "millrace.db"), { readOnly: true });
  return db.prepare("SELECT pipe_id AS pipe, intent FROM pipe_intents").all() as { pipe: string; intent: string }[];
}

test.skipIf(missing !== undefined)(
  "pipes of every kind go on where an earlier version was killed",
  async () => {
    await using peers = new AsyncDisposableStack();
    const kafka = peers.use(await startKafka());
    const tool = peers.use(new KafkaTool(kafka));
    const store = peers.use(await startTestStore());
    const kinesis = peers.use(await startKinesisLocal());
    const postgres = peers.use(await TestPostgres.start());
    await tool.topic("orders", 2);
    await kinesis.createStream("events", 2);
    await postgres.sql("CREATE TABLE people (id bigint PRIMARY KEY, name text NOT NULL)");
    const more = async (from: number, to: number) => {
      const files = Array.from({ length: (to - from) / perFile }, (_, i) => from + i * perFile);
      await Promise.all([
        tool.send(orders("orders", from, to, 2)),
        ...files.map((at) => store.put(`in/${String(at).padStart(9, "0")}.json`, rows(at, at + perFile))),
        kinesis.put("events", events(from / 20, to / 20)),
        postgres.sql(`INSERT INTO people SELECT i, 'name ' || i FROM generate_series(${from}, ${to - 1}) i`),
      ]);
    };

    const earlier = await serve({ tree: tree as string, keepData: true });
    peers.defer(async () => await earlier.stop());
    const service = await runningService(earlier, { idleScaling: false });
    await more(0, part);
    const location = { url: `${store.endpoint}/${store.bucket}/in/*`, accessKey: store.accessKey };
    const pipes = [
      await createPipe(earlier, service, kafkaBody(kafka, "orders", "orders")),
      await createPipe(earlier, service, kinesisPipe(kinesis, "events", { table: "events" })),
      await cdcPipe(earlier, service, postgres, ["people"], { settings: { syncIntervalSeconds: 1 } }),
      await createPipe(earlier, service, {
        name: "files",
        source: { objectStorage: { ...location, authentication: "IAM_USER", isContinuous: true } },
        destination: { table: "files", columns },
        settings: { object_storage_polling_interval_ms: 200, object_storage_max_file_count: 2 },
      }),
    ];
    for (const table of ["orders", "people_current", "files"]) await untilRows(earlier, service, table, part);
    await untilRows(earlier, service, "events", part / 20);

    // Killed while batches are in progress.
    const sending = more(part, 2 * part);
    const pipesAtWork = () => new Set(intents(earlier.dataDir).map(({ pipe }) => pipe)).size;
    await until("a pipe has a batch in hand", async () => pipesAtWork() >= 1);
    earlier.process.kill("SIGKILL");
    await sending;
    const left = intents(earlier.dataDir);
    console.log(
      `left by the earlier version: ${left.length} batches of ${new Set(left.map(({ pipe }) => pipe)).size} pipes`,
    );
    expect(left.length).toBeGreaterThan(0);

    const now = peers.use(await serve({ dataDir: earlier.dataDir }));
    await more(2 * part, 3 * part);
    for (const table of ["orders", "people_current", "files"]) await untilRows(now, service, table, 3 * part);
    await untilRows(now, service, "events", (3 * part) / 20);
    const seen = async (table: string) => await query(service, `SELECT count(), uniqExact(id), sum(id) FROM ${table}`);
    const every = (count: number) => `${count}\t${count}\t${(count * (count - 1)) / 2}`;
    for (const table of ["orders", "people_current", "files"]) expect(await seen(table), table).toBe(every(3 * part));
    expect(await seen("events")).toBe(every((3 * part) / 20));
    for (const id of pipes) expect((await details(now, service, id)).lastError).toBeUndefined();
  },
  300_000,
);
