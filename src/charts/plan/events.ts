/**
 * The query for series over rows: logs, spans and any table. All series of one source are one pass: each is an
 * aggregate with its own condition, and the conditions together stand in WHERE, so that indexes prune.
 */

import { tableName } from "../../clickhouse/sql.ts";
import { badRequest } from "../../lib/errors.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import type { RowDecoding } from "../answer/row-decoding.ts";
import { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { at } from "../errors.ts";
import { type Emitted, emitExpression } from "../expression/emit.ts";
import { aggregate, weightOf } from "./aggregate.ts";
import type { CellKind } from "./cells.ts";
import { type ConditionOf, conditionsOf, groupExpressions, numbersOf } from "./conditions.ts";
import {
  ExpressionTypes,
  type PlanInput,
  type QueryPlan,
  type Series,
  type Typed,
  type TypedExpression,
} from "./plan.ts";
import { inRange, rowTime } from "./row-time.ts";

/** Plans one query for all the series. Throws AppError for what the caller got wrong. */
export async function planEvents(input: PlanInput): Promise<QueryPlan> {
  const params = new Params();
  const { schema, series, range, buckets } = input;
  const conditions = await conditionsOf(input, params);
  const { fields, groups, time, weight } = await partsOf(input, params);
  const shared = new Set(conditions.map(({ sql }) => sql)).size === 1;
  const aggregates = series.map((one, i) => {
    const condition = shared ? undefined : conditions[i];
    return aggregate(one, {
      field: fields[i],
      condition,
      time: time.finest.sql,
      weight: weight?.sql,
      exact: input.exactQuantiles,
    });
  });
  const { where, dropEmpty } = placeConditions(conditions, {
    shared,
    schema,
    readsMore: groups.length > 0 || fields.some((field) => field !== undefined),
  });
  const bucket = { index: buckets.sql(time.finest.sql, time.finest.type), ...buckets.occurring(time.finest.type) };
  // The engine groups fastest by one byte. The range restores the bits that the index loses.
  const bits = bucket.count <= 256 ? 8 : 16;
  const keys = [`toUInt${bits}(${bucket.index})`, ...groups.map(({ sql }) => sql)];
  const prefix = alias(schema.columns);
  const names = keys.map((_, i) => `${prefix}${i}`);
  const bounds = inRange(time, range.startMs, range.endMs + 1, buckets.zone, params);
  const volatile = [...conditions, ...fields, ...groups, weight].some((part) => part?.volatile === true);
  const whole = { series, params, volatile, fromCaller: true, rollup: undefined };
  const from = `FROM ${tableName(schema.database, schema.table)}\nWHERE ${[bounds, ...where].join(" AND ")}`;
  const countsOnly = keys.length === 1 && !shared && fields.every((field) => field === undefined);
  const counts = countsOnly
    ? bitmaskCountsOf(conditions, { ...bucket, name: names[0] as string, weight: weight?.sql })
    : undefined;
  if (counts !== undefined)
    return { ...whole, sql: `${counts.select}\n${from}\n${counts.groupBy}`, decoding: counts.decoding };
  const values = aggregates.map(({ sql }, i) => ({ sql, name: `${prefix}v${i}` }));
  const selected = [...keys.map((sql, i) => ({ sql, name: names[i] })), ...values];
  const grouped = [
    `SELECT ${selected.map(({ sql, name }) => `${sql} AS ${name}`).join(", ")}`,
    from,
    `GROUP BY ${names.join(", ")}`,
  ].join("\n");
  const kinds = aggregates.map(({ kind }) => kind);
  const shown = { prefix, names, values: values.map(({ name }) => name), kind: kinds[0] as CellKind };
  const { mostGroups } = input;
  const kept = mostGroups === undefined ? grouped : ranked(grouped, { ...shown, most: mostGroups });
  const order = [`toUInt${bits}(${names[0]} - ${bucket.base})`, ...names.slice(1)];
  const sql = `${kept}\nORDER BY ${order.join(", ")}`;
  return {
    ...whole,
    sql,
    decoding: {
      kind: "rows",
      wrapped: { base: bucket.base, modulus: 2 ** bits },
      numbers: numbersOf(groups),
      values: kinds,
      dropEmpty,
    },
  };
}

/** The expressions of the query, with their types. */
async function partsOf(input: PlanInput, params: Params) {
  const types = new ExpressionTypes();
  const fields = await fieldsOf(input, params, types);
  const groups = await groupExpressions(input, params, types);
  const time = rowTime(input, params, types);
  const weight = weightOfRows(input, params, types);
  await types.ask(input, params);
  return { fields: fields(), groups: groups(), time: time(), weight: weight() };
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
  const prunes = conditions.every(({ columns }) => schema.indexed.some((name) => columns.has(name)));
  if (prunes || readsMore) return { where: [`(${distinct.join(" OR ")})`], dropEmpty: false };
  return { where: [], dropEmpty: true };
}

/** A prefix for the names of our own columns that no column of the table begins with. */
export function alias(columns: ReadonlyMap<string, unknown>): string {
  let prefix = "k";
  while ([...columns.keys()].some((name) => name.startsWith(prefix))) prefix += "_";
  return prefix;
}

/** The number of rows that each row stands for; undefined for a source without sampling. */
function weightOfRows(
  input: PlanInput,
  params: Params,
  types: ExpressionTypes,
): Typed<{ sql: string; volatile: boolean } | undefined> {
  const text = input.source.sampleRateExpression;
  if (text === undefined) return () => undefined;
  const typed = types.expect([at("source.sampleRateExpression", () => emitExpression(text, input.schema, params))]);
  return () => {
    const [rate] = typed();
    return { sql: weightOf(rate as TypedExpression), volatile: (rate as TypedExpression).volatile };
  };
}

function isOfNumbers(series: Series | undefined): boolean {
  return ["sum", "avg", "min", "max", "quantile", "last_value"].includes(series?.item.aggFn ?? "");
}

async function fieldsOf(
  input: PlanInput,
  params: Params,
  types: ExpressionTypes,
): Promise<Typed<(TypedExpression | undefined)[]>> {
  const texts = input.series.map(({ item, index }) => {
    if (item.aggFn === "count") return undefined;
    if (item.aggFn === "increase") throw badRequest(`series.${index}.aggFn`, "increase needs a metric of type sum");
    if (item.field === undefined || item.field.trim() === "") {
      throw badRequest(`series.${index}.field`, `${item.aggFn} needs a field`);
    }
    return item.field;
  });
  const emitted: (Emitted | undefined)[] = [];
  for (const [i, text] of texts.entries()) {
    await yieldWhenLong();
    const emit = (field: string) => emitExpression(field, input.schema, params);
    const path = `series.${input.series[i]?.index}.field`;
    const field = text === undefined ? undefined : at(path, () => emit(text));
    if (field?.type?.family === "text" && field.column !== undefined && isOfNumbers(input.series[i])) {
      input.warn(path, `${field.column} is text: only values that are numbers count`);
    }
    emitted.push(field);
  }
  const typed = emitted.map((one) => (one === undefined ? undefined : types.expect([one])));
  return () => typed.map((one) => one?.()[0]);
}

/**
 * Counts alone, of the same rows under different conditions: which of the conditions a row meets is one small number,
 * and rows are counted once by bucket and that number instead of once per series. The series are added up here.
 */
type BitmaskCounts = {
  readonly select: string;
  readonly groupBy: string;
  readonly decoding: RowDecoding;
};

type CountOptions = {
  /** SQL of the index of a row's bucket, and which indexes there may be. */
  readonly index: string;
  readonly base: number;
  readonly count: number;
  /** What to call the small number: no column's name. */
  readonly name: string;
  /** SQL of the number of rows that a row stands for. */
  readonly weight: string | undefined;
};

/**
 * The query's parts for counts under the conditions, one per series, of a table without groups; undefined when there
 * are too many buckets. Buckets in which no series counts anything have no row.
 */
export function bitmaskCountsOf(
  conditions: readonly ConditionOf[],
  { name, weight, ...bucket }: CountOptions,
): BitmaskCounts | undefined {
  const flags = [...new Set(conditions.filter(({ sql }) => sql !== undefined).map(({ flag }) => flag))];
  const needed = bucket.count * 2 ** flags.length;
  // One or two bytes, which the engine counts by a plain array. The upper bits of the index drop out.
  if (needed > 2 ** 16) return undefined;
  const bits = needed <= 2 ** 8 ? 8 : 16;
  const buckets = 2 ** (bits - flags.length);
  const met = flags.map((flag, i) => `if(${flag}, ${1 << i}, 0)`).reduce((all, one) => `bitOr(${all}, ${one})`);
  // The bit of each series; 0 for those without a condition, which count every row.
  const bitOf = conditions.map(({ sql, flag }) => (sql === undefined ? 0 : 1 << flags.indexOf(flag)));
  return {
    select: `SELECT bitOr(bitShiftLeft(toUInt${bits}(${bucket.index}), ${flags.length}), ${met}) AS ${name}, ${weight === undefined ? "count()" : `sum(${weight})`}`,
    groupBy: `GROUP BY ${name}`,
    decoding: { kind: "bitmask", base: bucket.base, flags: flags.length, modulus: buckets, bits: bitOf },
  };
}

/** Leaving out groups where the rows are: a chart of many groups sends only those that a limit keeps. */
type Grouped = {
  /** A name that no column of the table begins with, for our own. */
  readonly prefix: string;
  /** Names of the bucket and of the groups. */
  readonly names: readonly string[];
  /** Names of the values, and what the first one is. */
  readonly values: readonly string[];
  readonly kind: CellKind;
  /** The most groups to keep. */
  readonly most: number;
};

/**
 * The rows of a grouped query that belong to the groups whose first value is greatest in any bucket, ranked as
 * `limitGroups` does: what is not a finite number comes last, equals go by group.
 */
function ranked(query: string, { prefix, names, values, kind, most }: Grouped): string {
  const columns = [...names, ...values].join(", ");
  const groups = names.slice(1).join(", ");
  const first = kind === "number" ? `toFloat64(${values[0]})` : "NULL";
  const best = kind === "number" ? `max(if(isFinite(${first}), ${first}, NULL)) OVER (PARTITION BY ${groups})` : first;
  const rank = `dense_rank() OVER (ORDER BY ${prefix}b DESC NULLS LAST, ${groups})`;
  return [
    `SELECT ${columns} FROM (SELECT ${columns}, ${rank} AS ${prefix}r FROM (`,
    `SELECT ${columns}, ${best} AS ${prefix}b FROM (`,
    query,
    `))) WHERE ${prefix}r <= ${most}`,
  ].join("\n");
}
