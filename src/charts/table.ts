/**
 * What the planner must know of a table. Every chart asks the engine for the table's columns, so that an ALTER TABLE is
 * seen at once; while a remembered state is at hand the question runs beside the chart's own query and is compared
 * afterwards. `version` changes with every change of the table's rows: an answer kept under it is never stale.
 */
import { createHash } from "node:crypto";
import { type ClickHouseClient, ClickHouseError } from "../clickhouse/client.ts";
import { tableName } from "../clickhouse/sql.ts";
import { type ColumnType, parseType } from "../clickhouse/types.ts";
import { AppError } from "../lib/errors.ts";
import { engineError } from "./errors.ts";
import { escapeText, type Params } from "./params.ts";
import { type TableSchema, tableSchema } from "./schema.ts";

export type TableState = {
  /** The same object as long as columns, indexes and sorting key stay the same. */
  readonly schema: TableSchema;
  /** Identifies the table's content; undefined when its engine does not tell (views, foreign tables). */
  readonly version: string | undefined;
};

export type TablePlace = { readonly serviceId: string; readonly database: string; readonly table: string };

type Known = { readonly text: string; state: TableState };

// One pass over each system table; as scalar subqueries the same takes twice as long.
const stateQuery = `
SELECT 'column' AS kind, name AS a, type AS b, position AS n FROM system.columns
  WHERE database = {db:String} AND table = {tbl:String} AND default_kind != 'EPHEMERAL'
UNION ALL SELECT 'index', name, expr, 0 FROM system.data_skipping_indices
  WHERE database = {db:String} AND table = {tbl:String}
UNION ALL SELECT 'table', concat(toString(uuid), ' ', engine), sorting_key, 0 FROM system.tables
  WHERE database = {db:String} AND name = {tbl:String}
UNION ALL SELECT 'parts', toString((count(), sum(rows), sum(bytes_on_disk), max(max_block_number), max(data_version))),
    toString((max(modification_time), groupBitXor(sipHash64(name)))), 0 FROM system.parts
  WHERE active AND database = {db:String} AND table = {tbl:String}
FORMAT JSONCompact`;

const maxTables = 1000;
const maxTypes = 1000;

export class Tables {
  readonly #known = new Map<string, Known>();
  readonly #types = new WeakMap<TableSchema, Map<string, ColumnType>>();

  /** What was last seen of the table. */
  remembered(place: TablePlace): TableState | undefined {
    return this.#known.get(keyOf(place))?.state;
  }

  /** Asks the engine. Throws AppError QUERY_FAILED when the table does not exist. */
  async state(client: ClickHouseClient, place: TablePlace, signal: AbortSignal): Promise<TableState> {
    const answer = await client.text(stateQuery, {
      params: { db: escapeText(place.database), tbl: escapeText(place.table) },
      signal,
    });
    const { data } = JSON.parse(answer) as { data: [string, string, string, string | number][] };
    const of = (kind: string) =>
      data.filter((row) => row[0] === kind).sort((a, b) => Number(a[3]) - Number(b[3]) || (a[1] < b[1] ? -1 : 1));
    const columns = of("column");
    if (columns.length === 0) {
      this.#known.delete(keyOf(place));
      throw new AppError("QUERY_FAILED", `the table ${place.database}.${place.table} of the source does not exist`);
    }
    const [table] = of("table");
    const text = JSON.stringify([columns, of("index"), table]);
    const known = this.#known.get(keyOf(place));
    const schema = known?.text === text ? known.state.schema : read(place, columns, of("index"), table?.[2] ?? "");
    const hash = createHash("sha256")
      .update(text)
      .update(JSON.stringify(of("parts")))
      .digest("base64url");
    const state = { schema, version: /MergeTree$/.test(table?.[1] ?? "") ? hash : undefined };
    if (this.#known.size >= maxTables) this.#known.clear();
    this.#known.set(keyOf(place), { text, state });
    return state;
  }

  /** The types of expressions over the table, remembered while the table keeps its columns. */
  async typesOf(
    client: ClickHouseClient,
    schema: TableSchema,
    { expressions, params }: { expressions: readonly string[]; params: Params },
    signal: AbortSignal,
  ): Promise<readonly ColumnType[]> {
    const types = this.#types.get(schema) ?? new Map<string, ColumnType>();
    this.#types.set(schema, types);
    const values = params.values();
    const keys = expressions.map((sql) => sql.replaceAll(/\{(p\d+):/g, (_, name) => JSON.stringify(values[name])));
    if (keys.some((key) => !types.has(key))) {
      if (types.size >= maxTypes) types.clear();
      const described = await describe(client, schema, { expressions, params }, signal);
      for (const [i, key] of keys.entries()) types.set(key, described[i] as ColumnType);
    }
    return keys.map((key) => types.get(key) as ColumnType);
  }
}

function keyOf({ serviceId, database, table }: TablePlace): string {
  return JSON.stringify([serviceId, database, table]);
}

type StateRow = readonly [string, string, string, string | number];

function read(place: TablePlace, columns: StateRow[], indexes: StateRow[], sortingKey: string): TableSchema {
  const named = columns.map(([, name, type]) => ({ name, type }));
  const expressions = indexes.map(([, , expression]) => expression);
  return tableSchema(place.database, place.table, named, expressions, sortingKey);
}

async function describe(
  client: ClickHouseClient,
  schema: TableSchema,
  { expressions, params }: { expressions: readonly string[]; params: Params },
  signal: AbortSignal,
): Promise<ColumnType[]> {
  const list = expressions.map((sql, i) => `${sql} AS x${i}`).join(", ");
  const from = tableName(schema.database, schema.table);
  try {
    const answer = await client.text(`DESCRIBE TABLE (SELECT ${list} FROM ${from}) FORMAT JSONCompact`, {
      params: params.values(),
      signal,
    });
    const { data } = JSON.parse(answer) as { data: string[][] };
    return data.map((row) => parseType(row[1] ?? ""));
  } catch (error) {
    throw error instanceof ClickHouseError ? engineError(error, true) : error;
  }
}
