/**
 * The query for series over rows: logs, spans and any table. All series of one source are one pass: each is an
 * aggregate with its own condition, and the conditions together stand in WHERE, so that indexes prune.
 */
import { identifier, tableName } from "../clickhouse/sql.ts";
import { type ColumnType, isNumeric } from "../clickhouse/types.ts";
import { unwrap } from "./buckets.ts";
import {
  type ConditionOf,
  conditionOf,
  type Expression,
  groupExpressions,
  inRange,
  rowTime,
  withTypes,
} from "./conditions.ts";
import { at, badRequest } from "./errors.ts";
import { emitExpression } from "./expression/emit.ts";
import { Params } from "./params.ts";
import {
  type Cell,
  type CellKind,
  type PlanInput,
  type QueryPlan,
  readCell,
  readInteger,
  type Series,
} from "./plan.ts";
import type { TableSchema } from "./schema.ts";
import { tallyOf } from "./tally.ts";

/** Plans one query for all the series. Throws AppError for what the caller got wrong. */
export async function planEvents(input: PlanInput): Promise<QueryPlan> {
  const params = new Params();
  const { schema, series, range, buckets } = input;
  const conditions = series.map((one) => conditionOf(one, input, params));
  const fields = await fieldsOf(input, params);
  const groups = await groupExpressions(input, params);
  const time = await rowTime(input, params);
  const shared = new Set(conditions.map(({ sql }) => sql)).size === 1;
  const aggregates = series.map((one, i) => {
    return aggregate(one, fields[i], time.finest.sql, shared ? undefined : (conditions[i] as ConditionOf));
  });
  const { where, dropEmpty } = placeConditions(conditions, {
    shared,
    schema,
    readsMore: groups.length > 0 || fields.some((field) => field !== undefined),
  });
  const bucket = { index: buckets.sql(time.finest.sql, time.finest.type), ...buckets.occurring(time.finest.type) };
  // The engine groups fastest by one byte. What the index loses, the range tells.
  const bits = bucket.count <= 256 ? 8 : 16;
  const keys = [`toUInt${bits}(${bucket.index})`, ...groups.map(({ sql }) => sql)];
  const names = keys.map((_, i) => `${alias(schema.columns)}${i}`);
  const bounds = inRange(time, range.startMs, range.endMs, buckets.zone, params);
  const volatile = [...conditions, ...fields, ...groups].some((part) => part?.volatile === true);
  const whole = { series, params, volatile, fromCaller: true, rollup: undefined };
  const from = `FROM ${tableName(schema.database, schema.table)}\nWHERE ${[bounds, ...where].join(" AND ")}`;
  const countsOnly = keys.length === 1 && !shared && fields.every((field) => field === undefined);
  const tally = countsOnly ? tallyOf(conditions, bucket, names[0] as string) : undefined;
  if (tally !== undefined) return { ...whole, sql: `${tally.select}\n${from}\n${tally.groupBy}`, read: tally.read };
  const sql = [
    `SELECT ${keys.map((key, i) => `${key} AS ${names[i]}`).join(", ")}, ${aggregates.map(({ sql }) => sql).join(", ")}`,
    from,
    `GROUP BY ${names.join(", ")}`,
    `ORDER BY ${[`toUInt${bits}(${names[0]} - ${bucket.base})`, ...names.slice(1)].join(", ")}`,
  ].join("\n");
  const kinds = aggregates.map(({ kind }) => kind);
  return {
    ...whole,
    sql,
    read: (rows) =>
      rows
        .map((row) => readRow(row, unwrap(Number(row[0]), bucket.base, 2 ** bits), groups, kinds))
        .filter(({ values }) => !dropEmpty || values.some((value) => value !== 0)),
  };
}

/**
 * Where the conditions of the series stand. In WHERE when an index may prune by them, or when rows that meet none need
 * not be read further; otherwise (counts alone) each is evaluated once, inside its aggregate, and buckets that met none
 * are to be dropped from the answer, which costs less than a HAVING.
 */
function placeConditions(
  conditions: readonly ConditionOf[],
  { shared, schema, readsMore }: { shared: boolean; schema: TableSchema; readsMore: boolean },
): { where: string[]; dropEmpty: boolean } {
  const distinct = [...new Set(conditions.map(({ sql }) => sql))];
  if (distinct.includes(undefined)) return { where: [], dropEmpty: false };
  if (shared) return { where: distinct as string[], dropEmpty: false };
  const prunes = distinct.every((sql) => schema.indexed.some((name) => sql?.includes(identifier(name))));
  if (prunes || readsMore) return { where: [`(${distinct.join(" OR ")})`], dropEmpty: false };
  return { where: [], dropEmpty: true };
}

function readRow(row: readonly Cell[], bucket: number, groups: readonly Expression[], kinds: readonly CellKind[]) {
  const first = groups.length + 1;
  return {
    bucket,
    group: groups.map((group, i) => readGroup(row[i + 1] as Cell, group.type)),
    values: kinds.map((kind, i) => readCell(row[first + i] as Cell, kind)),
  };
}

export function readGroup(cell: Cell, type: ColumnType): Cell {
  return type.family === "integer" ? readInteger(cell) : cell;
}

/** A prefix for the names of our own columns that no column of the table begins with. */
export function alias(columns: ReadonlyMap<string, unknown>): string {
  let prefix = "k";
  while ([...columns.keys()].some((name) => name.startsWith(prefix))) prefix += "_";
  return prefix;
}

async function fieldsOf(input: PlanInput, params: Params): Promise<(Expression | undefined)[]> {
  const texts = input.series.map(({ item, index }) => {
    if (item.aggFn === "count") return undefined;
    if (item.aggFn === "increase") throw badRequest(`series.${index}.aggFn`, "increase needs a metric of type sum");
    if (item.field === undefined || item.field.trim() === "") {
      throw badRequest(`series.${index}.field`, `${item.aggFn} needs a field`);
    }
    return item.field;
  });
  const emitted = texts.map((text, i) =>
    text === undefined
      ? undefined
      : at(`series.${input.series[i]?.index}.field`, () => emitExpression(text, input.schema, params)),
  );
  const typed = await withTypes(
    emitted.filter((one) => one !== undefined),
    input,
    params,
  );
  let next = 0;
  return emitted.map((one) => (one === undefined ? undefined : typed[next++]));
}

type Aggregate = { readonly sql: string; readonly kind: CellKind };

/** One aggregate. With a condition it is of the rows that meet it, and NULL when none does, except counts and sums. */
function aggregate(
  series: Series,
  field: Expression | undefined,
  time: string,
  condition: ConditionOf | undefined,
): Aggregate {
  const { item, index } = series;
  const filtered = condition?.sql === undefined ? undefined : condition.flag;
  if (item.aggFn === "count" || field === undefined) {
    // The sum of a flag is what countIf returns, and a third faster.
    return { sql: filtered === undefined ? "count()" : `sum(${filtered})`, kind: "number" };
  }
  const call = (name: string, args: string, orNull = false) => {
    const suffix = orNull && condition !== undefined ? "OrNull" : "";
    return filtered === undefined ? `${name}${suffix}(${args})` : `${name}${suffix}If(${args}, ${filtered})`;
  };
  if (item.aggFn === "count_distinct") return { sql: call("uniqExact", field.sql), kind: "number" };
  if (item.aggFn === "any") {
    const kind = isNumeric(field.type) ? "number" : "raw";
    return { sql: call("any", printable(field), true), kind };
  }
  const value = numeric(field, `series.${index}.field`);
  switch (item.aggFn) {
    case "sum": {
      // A 64-bit sum would wrap around silently; a double loses digits only beyond 2^53, which JSON numbers do as well.
      const wide = field.type.family === "integer" && field.type.size >= 64;
      const sum = call("sum", wide ? `toFloat64(${value.sql})` : value.sql);
      return { sql: value.nullable ? `ifNull(${sum}, 0)` : sum, kind: "number" };
    }
    case "avg":
      return { sql: call("avg", value.sql), kind: "number" };
    case "min":
    case "max":
      return { sql: call(item.aggFn, value.sql, true), kind: "number" };
    case "last_value":
      return { sql: call("argMax", `${value.sql}, ${time}`, true), kind: "number" };
    default: {
      const name = `quantile${filtered === undefined ? "" : "If"}(${item.level ?? 0.5})`;
      return { sql: `${name}(${filtered === undefined ? value.sql : `${value.sql}, ${filtered}`})`, kind: "number" };
    }
  }
}

/** A value that JSON can hold as one scalar. */
function printable(field: Expression): string {
  const scalar = !["array", "map", "tuple", "json", "other", "aggregate"].includes(field.type.family);
  return scalar ? field.sql : `toString(${field.sql})`;
}

/** The field as a number, natively where it is one. Times count in ms since the epoch; text that is no number is NULL. */
export function numeric(field: Expression, path: string): { readonly sql: string; readonly nullable: boolean } {
  const { sql, type } = field;
  if (isNumeric(type)) return { sql, nullable: type.nullable };
  switch (type.family) {
    case "boolean":
      return { sql: `toUInt8(${sql})`, nullable: type.nullable };
    case "text":
      return { sql: `toFloat64OrNull(${sql})`, nullable: true };
    case "dynamic":
      return { sql: `toFloat64OrNull(toString(${sql}))`, nullable: true };
    case "date":
    case "dateTime":
      return { sql: `toUnixTimestamp64Milli(toDateTime64(${sql}, 3, 'UTC'))`, nullable: type.nullable };
    default:
      throw badRequest(path, `${type.text} is not a number`);
  }
}
