/** What remains of a run that has broken a guarantee: everything that tells how it came about. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { TestServer } from "../clickhouse/server.ts";
import { planesDatabase } from "./feeds.ts";

/** Rows of the metadata about a pipe, by name. */
const ledger = {
  pipe: "SELECT id, name, state, last_error, desired_state FROM pipes WHERE id = $1",
  intents: "SELECT * FROM pipe_intents WHERE pipe_id = $1 ORDER BY seq",
  checkpoints: "SELECT * FROM pipe_checkpoints WHERE pipe_id = $1",
  batches: "SELECT * FROM pipe_batches WHERE pipe_id = $1 ORDER BY seq DESC LIMIT 200",
  holders: "SELECT holder, fence, at FROM lease_history WHERE kind = 'pipe' AND id = $1 ORDER BY at",
} as const;

/**
 * Writes ledger, inserts with their tokens, and examples of rows that are there more than once, of the pipe into
 * `table`, to a file in the folder; returns its name.
 */
export async function writeFindings(
  folder: string,
  table: string,
  from: { readonly metadataUrl: string; readonly clickhouse: TestServer; readonly pipeId: string },
): Promise<string> {
  const { metadataUrl, clickhouse, pipeId } = from;
  const found: Record<string, unknown> = {};
  const client = new pg.Client({ connectionString: metadataUrl });
  await client.connect();
  try {
    for (const [name, sql] of Object.entries(ledger)) {
      found[name] = await client.query(sql, [pipeId]).then(
        ({ rows }) => rows,
        (error: Error) => error.message,
      );
    }
  } finally {
    await client.end();
  }
  const ask = (sql: string) => clickhouse.client.text(sql).catch((error: Error) => error.message);
  const doubled = `SELECT id, count() AS times, groupArray(_part) AS parts FROM ${planesDatabase}.${table}
    GROUP BY id HAVING times > 1 ORDER BY id LIMIT 1000 FORMAT JSONEachRow`;
  found.doubled = (await ask(doubled)).split("\n");
  const inserts = `SELECT event_time_microseconds AS at, type, Settings['insert_deduplication_token'] AS token,
      written_rows, query_duration_ms, exception FROM system.query_log
    WHERE query_kind = 'Insert' AND type <> 'QueryStart' AND has(tables, '${planesDatabase}.${table}')
    ORDER BY at FORMAT JSONEachRow`;
  found.inserts = (await ask(inserts)).split("\n");
  const file = join(folder, `${table}.json`);
  writeFileSync(file, JSON.stringify(found, undefined, 2));
  return file;
}
