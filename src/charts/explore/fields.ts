/** What a filter may name: columns, keys of maps and paths of JSON; and the values that a field has. */

import { seriesItem } from "../../api/charts.ts";
import type { FieldsQuery, FieldValuesQuery, ReadMeta, SourceField, SourceFieldValue } from "../../api/explore.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { badRequest } from "../../lib/errors.ts";
import { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { at } from "../errors.ts";
import { locateError } from "../locate-error.ts";
import { conditionsOf, expressionOrPath } from "../plan/conditions.ts";
import { ExpressionTypes, type Series } from "../plan/plan.ts";
import { inRange, rowTime } from "../plan/row-time.ts";
import { requireTimeZone } from "../timezone.ts";
import type { Reader } from "../turns.ts";
import type { SourceRead, SourceReads } from "./reads.ts";

/** Rows that are looked at for the keys of maps and the paths of JSON. */
const sampledForFields = 10_000;
/** Rows whose values are counted. */
const sampledForValues = 1_000_000;
const maxKeys = 500;
const maxMaps = 50;

type Answer<T> = { readonly data: T[]; readonly meta: ReadMeta & { readonly complete: boolean } };
type Range = Pick<FieldsQuery, "startTime" | "endTime">;

export class Fields {
  readonly #reads: SourceReads;

  constructor(reads: SourceReads) {
    this.#reads = reads;
  }

  /** The fields of a source. Keys and paths are those of a sample of rows. Throws AppError. */
  async list(sourceId: string, query: FieldsQuery, reader: Reader): Promise<Answer<SourceField>> {
    const asked = { ...query, what: "fields" };
    const { result, meta } = await this.#reads.ofSource(sourceId, "id", asked, reader, (read) => fieldsOf(query, read));
    return { data: result.fields, meta: { ...meta, complete: result.complete } };
  }

  /** The most frequent values of a field, in a sample of rows. Throws AppError. */
  async values(sourceId: string, query: FieldValuesQuery, reader: Reader): Promise<Answer<SourceFieldValue>> {
    requireTimeZone(query.timezone);
    const asked = { ...query, what: "values" };
    const { result, meta } = await this.#reads.ofSource(sourceId, "id", asked, reader, (read) => valuesOf(query, read));
    return { data: result.values, meta: { ...meta, complete: result.complete } };
  }
}

async function fieldsOf(query: Range, read: SourceRead) {
  const columns = [...read.schema.columns.values()];
  const nested = columns.filter(({ type }) => type.family === "map" || type.family === "json").slice(0, maxMaps);
  const found = nested.length === 0 ? { complete: true, keys: [] } : await keysOf(query, read, nested);
  const fields = columns.flatMap(({ name, type }): SourceField[] => {
    const keys = found.keys[nested.findIndex((one) => one.name === name)] ?? [];
    const kind = type.family === "map" ? "mapKey" : "jsonPath";
    const below = keys.map((key) => ({ name: fieldName(name, key.name, kind), type: key.type, kind }) as const);
    return [{ name, type: type.text, kind: "column" }, ...below];
  });
  return { fields, complete: found.complete };
}

type Key = { readonly name: string; readonly type: string };

/** The keys and paths of some columns, each list in order. */
async function keysOf(query: Range, read: SourceRead, nested: readonly { name: string; type: ColumnType }[]) {
  const params = new Params();
  const where = await rangeOf(query, "UTC", read, params);
  const columns = nested.map(({ name }) => identifier(name)).join(", ");
  const lists = nested.map(({ name, type }) =>
    type.family === "map"
      ? `groupUniqArrayArray(${maxKeys})(arrayMap(k -> toString(k), mapKeys(${identifier(name)})))`
      : `distinctJSONPathsAndTypes(${identifier(name)})`,
  );
  const text = await read.query(
    `SELECT count(), ${lists.join(", ")} FROM (SELECT ${columns} FROM ${tableOf(read.schema)}
WHERE ${where} LIMIT ${sampledForFields}) FORMAT JSONCompactEachRow`,
    { params: params.values(), settings: { output_format_json_quote_64bit_integers: 0 } },
  );
  const [rows, ...found] = JSON.parse(text) as [number, ...(string[] | Record<string, string[]>)[]];
  const keys = found.map((one, i): Key[] => {
    const value = nested[i]?.type.items[1]?.text ?? "";
    const all = Array.isArray(one)
      ? one.map((name) => ({ name, type: value }))
      : Object.entries(one).map(([name, types]) => ({ name, type: types.join(" | ") }));
    return all.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, maxKeys);
  });
  return { keys, complete: rows < sampledForFields };
}

/** A form that both filter languages read. */
function fieldName(column: string, key: string, kind: "mapKey" | "jsonPath"): string {
  const plain = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;
  const own = plain.test(column) ? column : identifier(column);
  if (plain.test(key) || kind === "jsonPath") return `${own}.${key}`;
  return `${own}[${literal(key)}]`;
}

async function valuesOf(query: FieldValuesQuery, read: SourceRead) {
  const { where, whereLanguage, timezone, limit, prefix } = query;
  const params = new Params();
  const item = seriesItem.parse({ sourceId: read.source.id, aggFn: "count", where, whereLanguage });
  const series: Series[] = [{ index: 0, item, prefix: "" }];
  try {
    const field = await fieldExpression(query.field, read, params);
    const [condition] = await conditionsOf({ ...read, series, buckets: { zone: timezone }, warn: () => {} }, params);
    const range = await rangeOf(query, timezone, read, params);
    const conditions = condition?.sql === undefined ? range : `${range} AND ${condition.sql}`;
    const begins = prefix === "" ? "" : ` AND startsWith(lowerUTF8(v), lowerUTF8(${params.bind(prefix, "String")}))`;
    // The sample is taken before values are looked at: a prefix that is rare does not make it longer.
    const text = await read.query(
      `SELECT v, count() AS c, max(n) FROM (SELECT ${field.each("f")} AS v, n
FROM (SELECT f, rowNumberInAllBlocks() + 1 AS n
FROM (SELECT ${field.sql} AS f FROM ${tableOf(read.schema)} WHERE ${conditions} LIMIT ${sampledForValues})))
GROUP BY v WITH TOTALS HAVING v != ''${begins} ORDER BY c DESC, v LIMIT ${limit} FORMAT JSONCompact`,
      {
        params: params.values(),
        settings: { output_format_json_quote_64bit_integers: 0, totals_mode: "before_having" },
      },
    );
    const { data, totals } = JSON.parse(text) as {
      data: [string, number, number][];
      totals?: [string, number, number];
    };
    const values = data.map(([value, count]): SourceFieldValue => ({ value, count }));
    return { values, complete: (totals?.[2] ?? 0) < sampledForValues };
  } catch (error) {
    throw await locateError(error, { ...read, series });
  }
}

/** The field, and the text of each of its values. */
async function fieldExpression(text: string, read: SourceRead, params: Params) {
  const types = new ExpressionTypes();
  const typed = types.expect([at("field", () => expressionOrPath(text.trim(), read.schema, params))]);
  await types.ask(read, params);
  const [field] = typed();
  const { sql = "", type = parseType("String") } = field ?? {};
  const refused: Partial<Record<string, string>> = { map: "name a key of it", aggregate: "it is not a value" };
  const reason = refused[type.family];
  if (reason !== undefined) throw badRequest("field", `values of type ${type.text} cannot be listed; ${reason}`);
  const each = (name: string) => {
    const one = type.family === "array" ? `arrayJoin(${name})` : name;
    return `ifNull(toString(${one}), '')`;
  };
  return { sql, each };
}

/** The condition of a range; true for none. */
async function rangeOf({ startTime, endTime }: Range, zone: string, read: SourceRead, params: Params): Promise<string> {
  if (startTime === undefined || endTime === undefined) return "true";
  const types = new ExpressionTypes();
  const time = rowTime(read, params, types, read.metric === undefined ? undefined : "TimeUnix");
  await types.ask(read, params);
  return inRange(time(), startTime, endTime + 1, zone, params);
}

function tableOf({ database, table }: TableSchema): string {
  return tableName(database, table);
}
