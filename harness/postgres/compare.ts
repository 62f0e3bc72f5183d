/** Compares tables of Postgres with their copies: the number of rows and a checksum of every row. */
import { createHash } from "node:crypto";
import { identifier } from "../../src/clickhouse/sql.ts";
import { quoteName } from "../../src/sources/relational-db/server/session.ts";
import { type BenchService, query, until } from "../serve.ts";
import type { TestPostgres } from "./postgres.ts";

type Column = { readonly name: string; readonly type: string };

/**
 * Expressions that print equal values as equal text on both sides, by source type. Other types are compared as their
 * text.
 */
const canonical: Readonly<Record<string, readonly [postgres: (c: string) => string, engine: (c: string) => string]>> = {
  boolean: [(c) => `(${c})::int::text`, (c) => `toString(toUInt8(${c}))`],
  "timestamp with time zone": [
    (c) => `(extract(epoch FROM ${c}) * 1000000)::bigint::text`,
    (c) => `toString(toUnixTimestamp64Micro(${c}))`,
  ],
  // Without trailing zeros.
  numeric: [(c) => `trim_scale(${c})::text`, (c) => `toString(${c})`],
  "text[]": [(c) => `array_to_string(${c}, '|')`, (c) => `arrayStringConcat(${c}, '|')`],
};

export type Compared = { readonly rows: number; readonly checksum: string };

/** Throws with at most ten differing rows. `view` is the readers' view at the destination. */
export async function compareTable(
  server: TestPostgres,
  service: BenchService,
  table: string,
  view: string,
): Promise<Compared> {
  const columns = await columnsOf(server, table);
  const source = await sourceRows(server, table, columns);
  const target = await targetRows(service, view, columns);
  const missing = without(source, target);
  const extra = without(target, source);
  if (missing.length + extra.length > 0) {
    const show = (rows: readonly string[]) =>
      rows
        .slice(0, 5)
        .map((row) => `\n    ${row.slice(0, 300)}`)
        .join("");
    throw new Error(
      `${table}: ${source.length} rows at the source, ${target.length} in ${view} (${columns.map(({ name }) => name)});` +
        `\n  ${missing.length} missing:${show(missing)}\n  ${extra.length} too many:${show(extra)}`,
    );
  }
  const checksum = createHash("md5").update(source.join("\n")).digest("hex");
  return { rows: source.length, checksum };
}

/** Waits until everything committed now is durable at the destination, according to the slots' confirmed positions. */
export async function untilCaughtUp(server: TestPostgres, limitMs: number, describe: () => Promise<string>) {
  const [now] = await server.sql("SELECT pg_current_wal_lsn()::text AS lsn");
  const behind = `SELECT slot_name, confirmed_flush_lsn::text AS at FROM pg_replication_slots
    WHERE slot_type = 'logical' AND (confirmed_flush_lsn < '${now?.lsn}' OR confirmed_flush_lsn IS NULL)`;
  await until("the slots have caught up", async () => (await server.sql(behind)).length === 0, limitMs).catch(
    async (error: Error) => {
      const slots = JSON.stringify(await server.sql(behind));
      throw new Error(`${error.message}: ${slots} want ${now?.lsn}; ${await describe()}`);
    },
  );
}

async function columnsOf(server: TestPostgres, table: string): Promise<Column[]> {
  const rows = await server.sql(
    `SELECT attname::text AS name, format_type(atttypid, -1) AS type FROM pg_attribute
     WHERE attrelid = '${quoteName(table).replaceAll("'", "''")}'::regclass AND attnum > 0 AND NOT attisdropped
       AND attgenerated = '' ORDER BY attnum`,
  );
  return rows as Column[];
}

/** One line per row; hashes of long values keep them short. */
async function sourceRows(server: TestPostgres, table: string, columns: readonly Column[]): Promise<string[]> {
  const parts = columns.map(({ name, type }) => {
    const text = (canonical[type]?.[0] ?? ((c) => `${c}::text`))(quoteName(name));
    return `coalesce(CASE WHEN length(${text}) > 60 THEN md5(${text}) ELSE ${text} END, '<null>')`;
  });
  const rows = await server.sql(`SELECT concat_ws(' ; ', ${parts.join(", ")}) AS row FROM ${quoteName(table)}`);
  return rows.map(({ row }) => JSON.stringify(row)).sort();
}

async function targetRows(service: BenchService, view: string, columns: readonly Column[]): Promise<string[]> {
  const parts = columns.map(({ name, type }) => {
    const text = (canonical[type]?.[1] ?? ((c) => `toString(${c})`))(identifier(name));
    return `ifNull(if(lengthUTF8(${text}) > 60, lower(hex(MD5(assumeNotNull(${text})))), ${text}), '<null>')`;
  });
  const sql = `SELECT concatWithSeparator(' ; ', ${parts.join(", ")}) AS row FROM ${identifier(view)} FORMAT JSONCompactEachRow`;
  const text = await query(service, sql);
  const lines = text === "" ? [] : text.split("\n");
  return lines.map((line) => JSON.stringify((JSON.parse(line) as [string])[0])).sort();
}

/** The sorted lines of `left` that `right` lacks, with their multiplicity. */
function without(left: readonly string[], right: readonly string[]): string[] {
  const found: string[] = [];
  let at = 0;
  for (const line of left) {
    while (at < right.length && (right[at] as string) < line) at += 1;
    if (right[at] === line) at += 1;
    else found.push(line);
  }
  return found;
}

/** Waits until the readers' view has the rows of the source's table; the error contains the differences. */
export async function untilTableEqual(server: TestPostgres, service: BenchService, table: string, limitMs?: number) {
  let difference = "";
  const equal = async () =>
    await compareTable(server, service, table, `${table}_current`).then(
      () => true,
      (error: Error) => {
        difference = error.message;
        return false;
      },
    );
  await until(`${table} is equal`, equal, limitMs).catch((error: Error) => {
    throw new Error(`${error.message}: ${difference}`);
  });
}
