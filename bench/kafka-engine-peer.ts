/**
 * The engine on its own in this process: its Kafka table engine with a materialized view, or an INSERT of a file of
 * JSON. Arguments: `kafka BROKERS TOPIC ROWS`, or `file PATH`. Prints the seconds taken.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Session } from "chdb";

const [mode, ...args] = process.argv.slice(2) as [string, ...string[]];
const dir = mkdtempSync(join(tmpdir(), "millrace-peer-"));
const columns = "id UInt64, name String";
const session = new Session(join(dir, "data"));
session.query("CREATE DATABASE d; CREATE TABLE d.t (id UInt64, name String) ENGINE = MergeTree ORDER BY id;");
const started = performance.now();
if (mode === "kafka") {
  const [brokers, topic, rows] = args as [string, string, string];
  session.query(
    `CREATE TABLE d.queue (${columns}) ENGINE = Kafka('${brokers}', '${topic}', 'peer-${process.pid}', 'JSONEachRow') ` +
      "SETTINGS kafka_num_consumers = 2, kafka_thread_per_consumer = 1, kafka_max_block_size = 100000, " +
      "kafka_flush_interval_ms = 1000, kafka_poll_max_batch_size = 50000; " +
      "CREATE MATERIALIZED VIEW d.view TO d.t AS SELECT * FROM d.queue;",
  );
  const limit = started + 300_000;
  while (Number(session.query("SELECT count() FROM d.t", "TSV")) < Number(rows)) {
    if (performance.now() > limit) throw new Error("the table engine did not finish within 300 s");
    await delay(50);
  }
} else {
  const [path] = args as [string];
  session.query(`INSERT INTO d.t SELECT id, name FROM file('${path}', JSONEachRow, '${columns}')`);
}
console.log((performance.now() - started) / 1000);
rmSync(dir, { recursive: true, force: true });
process.exit(0);
