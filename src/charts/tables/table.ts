/**
 * What the planner must know of a table: its columns, and a `version` that changes with every change of its rows, so
 * that an answer kept under it is never stale.
 */
import { createHash } from "node:crypto";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { tableName } from "../../clickhouse/sql.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { abortable } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import { escapeText, type Params } from "../columns/params.ts";
import { type TableSchema, tableSchema } from "../columns/schema.ts";
import { engineError } from "../errors.ts";

export type ChartTable = {
  /** The same object as long as columns, indexes and sorting key stay the same. */
  readonly schema: TableSchema;
  /** Identifies the table's content; undefined when its engine cannot (views, foreign tables). */
  readonly version: string | undefined;
  /** Rows of the table; undefined when its engine does not count them. */
  readonly rows: number | undefined;
  /** Size of the engine's cache of decompressed blocks; 0 where there is none. */
  readonly blockCacheBytes: number;
};

export type TablePlace = { readonly serviceId: string; readonly database: string; readonly table: string };

type Known = { readonly text: string; readonly state: ChartTable; readonly definition: string };
type Flight = { readonly running: Promise<ChartTable>; next: Promise<ChartTable> | undefined };

/** In place of an unknown number of rows. */
const unknownRows = "18446744073709551615";

// One pass over each system table; as scalar subqueries the same takes twice as long.
const schemaQuery = `
SELECT 'column' AS kind, name AS a, type AS b, position AS n, default_expression AS c FROM system.columns
  WHERE database = {db:String} AND table = {tbl:String} AND default_kind != 'EPHEMERAL'
UNION ALL SELECT 'index', name, expr, 0, '' FROM system.data_skipping_indices
  WHERE database = {db:String} AND table = {tbl:String}
UNION ALL SELECT 'cache', toString(getServerSetting('uncompressed_cache_size')), '', 0, ''`;

/**
 * What tells a change: of the definition, and of the rows. Not every database gives its tables an id, so the parts are
 * told apart by what is in them.
 */
const contentQuery = `
SELECT 'table' AS kind, engine AS a, sorting_key AS b, ifNull(total_rows, ${unknownRows}) AS n,
    concat(toString(uuid), create_table_query) AS c FROM system.tables
  WHERE database = {db:String} AND name = {tbl:String}
UNION ALL SELECT 'parts', toString((count(), sum(rows), sum(bytes_on_disk), max(max_block_number), max(data_version))),
    toString((max(modification_time), groupBitXor(sipHash64(name, hash_of_all_files)))), 0, '' FROM system.parts
  WHERE active AND database = {db:String} AND table = {tbl:String}`;

const quoted = { output_format_json_quote_64bit_integers: 1 };

const maxTables = 1000;
const maxTypes = 1000;

export class Tables {
  readonly #known = new Map<string, Known>();
  readonly #flights = new Map<string, Flight>();
  readonly #types = new WeakMap<TableSchema, Map<string, ColumnType>>();

  /** What was last seen of the table. */
  remembered(place: TablePlace): ChartTable | undefined {
    return this.#known.get(keyOf(place))?.state;
  }

  /**
   * Asks the engine; the answer is never older than the call. Callers that come while a question is under way share
   * the next one. Throws AppError QUERY_FAILED when the table does not exist.
   */
  state(client: ClickHouseClient, place: TablePlace, signal: AbortSignal): Promise<ChartTable> {
    const key = keyOf(place);
    const flight = this.#flights.get(key);
    if (flight === undefined) return abortable(this.#start(client, place), signal);
    flight.next ??= flight.running.then(
      () => this.#start(client, place),
      () => this.#start(client, place),
    );
    return abortable(flight.next, signal);
  }

  #start(client: ClickHouseClient, place: TablePlace): Promise<ChartTable> {
    const key = keyOf(place);
    const running = this.#read(client, place);
    const flight: Flight = { running, next: undefined };
    this.#flights.set(key, flight);
    const land = () => {
      if (this.#flights.get(key) === flight && flight.next === undefined) this.#flights.delete(key);
    };
    running.then(land, land);
    return running;
  }

  /** Columns are read again only when the definition is another. */
  async #read(client: ClickHouseClient, place: TablePlace): Promise<ChartTable> {
    const known = this.#known.get(keyOf(place));
    const content = contentOf(await ask(client, place, contentQuery));
    if (known !== undefined && known.definition === content.definition) {
      return this.#keep(place, { ...known, state: { ...known.state, ...content.state } });
    }
    const rows = await ask(client, place, `${schemaQuery} UNION ALL ${contentQuery}`);
    const of = (kind: string) => rows.filter((row) => row[0] === kind);
    const columns = of("column").sort((a, b) => Number(a[3]) - Number(b[3]));
    const indexes = of("index").sort((a, b) => (a[1] < b[1] ? -1 : 1));
    if (columns.length === 0) {
      this.#known.delete(keyOf(place));
      throw new AppError("QUERY_FAILED", `the table ${place.database}.${place.table} of the source does not exist`);
    }
    const { definition, sortingKey, state } = contentOf(rows);
    const text = JSON.stringify([columns, indexes, sortingKey]);
    const schema = known?.text === text ? known.state.schema : schemaOf(place, columns, indexes, sortingKey);
    const blockCacheBytes = Number(of("cache")[0]?.[1] ?? 0);
    return this.#keep(place, { text, definition, state: { schema, blockCacheBytes, ...state } });
  }

  #keep(place: TablePlace, known: Known): ChartTable {
    if (this.#known.size >= maxTables) this.#known.clear();
    this.#known.set(keyOf(place), known);
    return known.state;
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
    const keys = expressions.map((sql) =>
      keyOfText(sql.replaceAll(/\{(p\d+):/g, (_, name) => JSON.stringify(values[name]))),
    );
    if (keys.some((key) => !types.has(key))) {
      if (types.size >= maxTypes) types.clear();
      const described = await describe(client, schema, { expressions, params }, signal);
      for (const [i, key] of keys.entries()) types.set(key, described[i] as ColumnType);
    }
    return keys.map((key) => types.get(key) as ColumnType);
  }
}

/** A long text is remembered by its hash. */
function keyOfText(text: string): string {
  return text.length <= 256 ? text : createHash("sha256").update(text).digest("base64url");
}

function boundPlace({ database, table }: TablePlace) {
  return { db: escapeText(database), tbl: escapeText(table) };
}

function keyOf({ serviceId, database, table }: TablePlace): string {
  return JSON.stringify([serviceId, database, table]);
}

type StateRow = readonly [kind: string, a: string, b: string, n: string | number, c: string];

async function ask(client: ClickHouseClient, place: TablePlace, sql: string): Promise<StateRow[]> {
  const answer = await client.text(`${sql}\nFORMAT JSONCompact`, { params: boundPlace(place), settings: quoted });
  return (JSON.parse(answer) as { data: StateRow[] }).data;
}

/** What the rows of `contentQuery` say. */
function contentOf(rows: readonly StateRow[]) {
  const [, engine = "", sortingKey = "", count = unknownRows, definition = ""] =
    rows.find(([kind]) => kind === "table") ?? [];
  const parts = rows.find(([kind]) => kind === "parts");
  const hash = createHash("sha256").update(definition).update(JSON.stringify(parts)).digest("base64url");
  const state = {
    version: /MergeTree$/.test(engine) ? hash : undefined,
    rows: String(count) === unknownRows ? undefined : Number(count),
  };
  return { definition, sortingKey, state };
}

function schemaOf(place: TablePlace, columns: StateRow[], indexes: StateRow[], sortingKey: string): TableSchema {
  const named = columns.map(([, name, type, , madeOf]) => ({ name, type, madeOf }));
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
  const sql = `DESCRIBE TABLE (SELECT ${list} FROM ${from}) FORMAT JSONCompact`;
  const answer = await client.text(sql, { params: params.values(), signal }).catch((error) => {
    throw engineError(error, true);
  });
  const { data } = JSON.parse(answer) as { data: string[][] };
  return data.map((row) => parseType(row[1] ?? ""));
}
