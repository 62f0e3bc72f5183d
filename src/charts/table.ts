/**
 * What the planner must know of a table, asked of the engine with one small query before every chart, so that an ALTER
 * TABLE is seen at once; parsing it again is spared while it stays the same. `version` changes with every change of
 * the table's rows, which lets an answer be kept without ever being stale.
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
  readonly schema: TableSchema;
  /** Identifies the table's content; undefined when its engine does not tell (views, foreign tables). */
  readonly version: string | undefined;
};

type Known = { readonly text: string; readonly schema: TableSchema; readonly types: Map<string, ColumnType> };

const stateQuery = `
SELECT
  (SELECT groupArray((name, type)) FROM (SELECT name, type FROM system.columns
     WHERE database = {db:String} AND table = {tbl:String} AND default_kind != 'EPHEMERAL' ORDER BY position)) AS columns,
  (SELECT groupArray(expr) FROM system.data_skipping_indices
     WHERE database = {db:String} AND table = {tbl:String}) AS indexes,
  (SELECT any((toString(uuid), engine)) FROM system.tables
     WHERE database = {db:String} AND name = {tbl:String}) AS identity,
  (SELECT (count(), sum(rows), sum(bytes_on_disk), max(max_block_number), max(data_version),
     toUnixTimestamp(max(modification_time)), toString(groupBitXor(sipHash64(name)))) FROM system.parts
     WHERE active AND database = {db:String} AND table = {tbl:String}) AS parts
FORMAT JSONCompact`;

const maxTables = 1000;
const maxTypes = 1000;

export class Tables {
  readonly #known = new Map<string, Known>();

  /** Throws AppError QUERY_FAILED when the table does not exist. */
  async state(
    client: ClickHouseClient,
    place: { serviceId: string; database: string; table: string },
    signal: AbortSignal,
  ): Promise<TableState> {
    const key = JSON.stringify([place.serviceId, place.database, place.table]);
    const answer = await client.text(stateQuery, {
      params: { db: escapeText(place.database), tbl: escapeText(place.table) },
      settings: { output_format_json_quote_64bit_integers: 1 },
      signal,
    });
    const { data } = JSON.parse(answer) as { data: [[[string, string][], string[], [string, string], unknown]] };
    const [columns, indexes, identity, parts] = data[0];
    if (columns.length === 0) {
      this.#known.delete(key);
      throw new AppError("QUERY_FAILED", `the table ${place.database}.${place.table} of the source does not exist`);
    }
    const text = JSON.stringify([columns, indexes, identity]);
    let known = this.#known.get(key);
    if (known?.text !== text) {
      const named = columns.map(([name, type]) => ({ name, type }));
      known = { text, schema: tableSchema(place.database, place.table, named, indexes), types: new Map() };
      if (this.#known.size >= maxTables) this.#known.clear();
      this.#known.set(key, known);
    }
    const kept = /MergeTree$/.test(identity[1]);
    const version = createHash("sha256").update(text).update(JSON.stringify(parts)).digest("base64url");
    return { schema: known.schema, version: kept ? version : undefined };
  }

  /** The types of expressions over the table, remembered while the table keeps its columns. */
  async typesOf(
    client: ClickHouseClient,
    schema: TableSchema,
    expressions: readonly string[],
    params: Params,
    signal: AbortSignal,
  ): Promise<readonly ColumnType[]> {
    const types = [...this.#known.values()].find((known) => known.schema === schema)?.types ?? new Map();
    const values = params.values();
    const keys = expressions.map((sql) => sql.replaceAll(/\{(p\d+):/g, (_, name) => JSON.stringify(values[name])));
    if (keys.some((key) => !types.has(key))) {
      if (types.size >= maxTypes) types.clear();
      const described = await this.#describe(client, schema, expressions, params, signal);
      for (const [i, key] of keys.entries()) types.set(key, described[i] as ColumnType);
    }
    return keys.map((key) => types.get(key) as ColumnType);
  }

  async #describe(
    client: ClickHouseClient,
    schema: TableSchema,
    expressions: readonly string[],
    params: Params,
    signal: AbortSignal,
  ): Promise<ColumnType[]> {
    const from = tableName(schema.database, schema.table);
    const list = expressions.map((sql, i) => `${sql} AS x${i}`).join(", ");
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
}
