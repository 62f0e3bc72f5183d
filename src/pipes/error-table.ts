/**
 * The table of refused rows beside a pipe's table: `<table>_pipes_error`. The worker writes it, and the control plane
 * reads it. A table that an earlier version made has fewer columns until the pipe starts again.
 */
import { literal, tableName } from "../clickhouse/sql.ts";
import { engineName, onCluster, plainForm, type TableForm, windowSettings } from "../clickhouse/table-form.ts";
import { errorTableOf } from "../sources/contract/destination.ts";
import type { Destination } from "../sources/contract/source.ts";

/** Time for which the engine keeps a refused row. */
export const errorTableDays = 7;

/** The columns that every version has made. */
const firstColumns = [
  "time DateTime64(3) DEFAULT now64(3)",
  "pipe_id String",
  "origin String",
  "position String",
  "message String",
  "raw String",
];

/** The columns of later versions, with what a table without them is read as. */
const laterColumns = {
  // Not from the message: it changes when a replayed row is refused again.
  row_id: {
    type: "String DEFAULT lower(hex(sipHash128(pipe_id, toUnixTimestamp64Milli(time), origin, position, raw)))",
    absent: "lower(hex(sipHash128(pipe_id, toUnixTimestamp64Milli(time), origin, position, raw)))",
  },
  /** Number of rows that the record stands for. */
  rows: { type: "UInt64 DEFAULT 1", absent: "toUInt64(1)" },
  /** `text`, `hex`, or empty for a record of an earlier version or without bytes. */
  raw_format: { type: "LowCardinality(String)", absent: "''" },
  /** Bytes of the row at the source, of which `raw` may be the beginning. */
  raw_size: { type: "UInt64", absent: "toUInt64(length(raw))" },
  /** JSON with what a replay needs besides `raw`; empty when the row cannot be replayed. */
  facts: { type: "String", absent: "''" },
  /** Last replay that refused the row again. */
  tried_at: { type: "Nullable(DateTime64(3))", absent: "CAST(NULL, 'Nullable(DateTime64(3))')" },
  /** Id of the request whose replay wrote `tried_at` or `replayed_at`. */
  request_id: { type: "String", absent: "''" },
  replayed_at: { type: "Nullable(DateTime64(3))", absent: "CAST(NULL, 'Nullable(DateTime64(3))')" },
  /** Name of the API key that asked for the replay. */
  replayed_by: { type: "String", absent: "''" },
} as const;

/** The error table's name in SQL. */
export function errorTableSql(destination: Destination): string {
  return tableName(destination.database, errorTableOf(destination));
}

/**
 * On a cluster every shard has one. Only that of the servers that the pipe is connected to is written and read: they
 * are replicas of one shard.
 */
export function createErrorTableSql(destination: Destination, form: TableForm = plainForm): string {
  const later = Object.entries(laterColumns).map(([name, { type }]) => `${name} ${type}`);
  return (
    `CREATE TABLE IF NOT EXISTS ${errorTableSql(destination)}${onCluster(form)} (${[...firstColumns, ...later].join(", ")}) ` +
    `ENGINE = ${engineName(form, "MergeTree")} ORDER BY time TTL toDateTime(time) + INTERVAL ${errorTableDays} DAY ` +
    `SETTINGS ${windowSettings(form).join(", ")}`
  );
}

/**
 * Adds the columns of later versions to a table with these columns; undefined when it has them, when there is no table,
 * or when it is not one that a pipe made.
 */
export function upgradeErrorTableSql(
  destination: Destination,
  present: ReadonlySet<string>,
  form: TableForm = plainForm,
): string | undefined {
  if (!firstColumns.every((column) => present.has(column.split(" ", 1)[0] as string))) return undefined;
  const missing = Object.entries(laterColumns).filter(([name]) => !present.has(name));
  if (missing.length === 0) return undefined;
  const actions = missing.map(([name, { type }]) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`);
  return `ALTER TABLE ${errorTableSql(destination)}${onCluster(form)} ${actions.join(", ")}`;
}

/** The rows of the error table with every column, also where the table has fewer. */
export function errorRowsSql(destination: Destination, present: ReadonlySet<string>): string {
  const first = firstColumns.map((column) => column.split(" ", 1)[0]);
  const later = Object.entries(laterColumns).map(([name, { absent }]) =>
    present.has(name) ? name : `${absent} AS ${name}`,
  );
  return `(SELECT ${[...first, ...later].join(", ")} FROM ${errorTableSql(destination)})`;
}

/** Stands before the numbers of a type while the others are replaced. */
const ofType = "\u0001";

/** What is replaced in a message, in this order: quoted values and numbers, other than those of types. */
const differences = [
  ["'(\\\\.|[^'\\\\])*'|\"(\\\\.|[^\"\\\\])*\"|`[^`]*`", "..."],
  ["\\b(U?Int|B?Float|Decimal|Date|DateTime|Time|IPv)((?:4|6|8|16|32|64|128|256)\\b)", `\\1${ofType}\\2`],
  [`(\\b(?:FixedString|(?:Decimal|DateTime|Time)(?:${ofType}[0-9]+)?)\\()([0-9]+)(, )?`, `\\1${ofType}\\2\\3${ofType}`],
  [`(^|[^${ofType}0-9])[0-9]+`, "\\1N"],
  [ofType, ""],
] as const;

/** The cause of a refusal: the message without what differs from row to row. */
export const shapeSql = differences.reduce(
  (sql, [pattern, by]) => `replaceRegexpAll(${sql}, ${literal(pattern)}, ${literal(by)})`,
  "message",
);

/** Id of the group of refused rows with one cause. */
export const groupSql = `lower(hex(sipHash64(${shapeSql})))`;

/** Names the columns that a table has. */
export const columnNamesSql =
  "SELECT name FROM system.columns WHERE database = {database:String} AND table = {table:String}";
