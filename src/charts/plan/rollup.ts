/**
 * Reading a rollup instead of the table, where the answer is the same: whole buckets of the rollup inside the range
 * come from it, the rest of the range from the table. Only aggregates that add up from parts, only over the columns
 * that the rollup keeps, and only in UTC, where its buckets lie inside ours.
 */
import type { Rollup } from "../../api/chart-sources.ts";
import { identifier, tableName } from "../../clickhouse/sql.ts";
import type { ColumnType } from "../../clickhouse/types.ts";
import { AppError } from "../../lib/errors.ts";
import { isTooLong } from "../columns/budget.ts";
import { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { type ConditionOf, conditionsOf, groupExpressions, numbersOf } from "./conditions.ts";
import { alias } from "./events.ts";
import { sizeMsOf } from "./granularity.ts";
import { ExpressionTypes, type PlanInput, type QueryPlan, type Series, type TypedExpression } from "./plan.ts";
import { instant, nearRange, rowTime } from "./row-time.ts";

export type RollupTable = { readonly rollup: Rollup; readonly schema: TableSchema };

type Aggregated = { readonly column: string; readonly type: ColumnType };
type Combine = "sum" | "min" | "max";

/** A plan over the coarsest rollup that gives the same answer, or undefined when none does. */
export async function planRollup(input: PlanInput, tables: readonly RollupTable[]): Promise<QueryPlan | undefined> {
  // A rollup counts rows, not what sampled rows stand for.
  if (input.source.sampleRateExpression !== undefined) return undefined;
  const size = ({ rollup }: RollupTable) => sizeMsOf(rollup.minGranularity);
  for (const table of [...tables].sort((a, b) => size(b) - size(a))) {
    const span = wholeBuckets(input, table.rollup);
    if (span === undefined) continue;
    const plan = await planWith(input, table, span);
    if (plan !== undefined && !isTooLong(plan)) return plan;
  }
  return undefined;
}

type Span = { readonly fromMs: number; readonly untilMs: number };

/** The part of the range that whole buckets of the rollup cover. */
function wholeBuckets({ range, buckets }: PlanInput, rollup: Rollup): Span | undefined {
  const size = sizeMsOf(rollup.minGranularity);
  if (!buckets.isOne && (buckets.zone !== "UTC" || buckets.sizeMs % size !== 0)) return undefined;
  const complete = rollup.minDate === undefined ? 0 : Date.parse(rollup.minDate);
  const fromMs = Math.ceil(Math.max(range.startMs, complete) / size) * size;
  // The last millisecond belongs to the range.
  const untilMs = Math.floor((range.endMs + 1) / size) * size;
  return untilMs > fromMs ? { fromMs, untilMs } : undefined;
}

async function planWith(input: PlanInput, table: RollupTable, span: Span): Promise<QueryPlan | undefined> {
  const { rollup } = table;
  const kept = keptColumns(input.schema, table);
  const aggregated = input.series.map((series) => aggregatedColumn(series, input.schema, table));
  if (kept === undefined || aggregated.includes(undefined)) return undefined;
  const params = new Params();
  const over = { ...input, schema: kept };
  const parts = await partsOf(input, over, params);
  if (parts === undefined) return undefined;
  const { conditions, groups, time } = parts;
  const plain = time.coarser.length === 0 && time.finest.type.family !== "date";
  if (!plain || [...conditions, ...groups].some(({ volatile }) => volatile)) return undefined;
  const at = (ms: number) => instant(ms, params);
  const within = (expression: string) => `${expression} >= ${at(span.fromMs)} AND ${expression} < ${at(span.untilMs)}`;
  const column = identifier(rollup.timestampColumn);
  const columnType = (table.schema.columns.get(rollup.timestampColumn) as { type: ColumnType }).type;
  const { sql: raw, type } = time.finest;
  const near = nearRange(time, input.range.startMs, input.range.endMs + 1, params).map((bound) => ` AND ${bound}`);
  const bounds = `${raw} >= ${at(input.range.startMs)} AND ${raw} < ${at(input.range.endMs + 1)}${near.join("")}`;
  const fromTable = part(input, {
    from: input.schema,
    bucket: input.buckets.sql(raw, type),
    where: `${bounds} AND NOT (${within(raw)})`,
    values: input.series.map(({ item }, i) => rawValue(item.aggFn, item.field, conditions[i] as ConditionOf)),
    groups,
    conditions,
  });
  const fromRollup = part(input, {
    from: table.schema,
    bucket: input.buckets.sql(column, columnType),
    where: within(column),
    values: input.series.map(({ item }, i) =>
      mergedValue(item.aggFn, aggregated[i] as Aggregated, (conditions[i] as ConditionOf).flag),
    ),
    groups,
    conditions,
  });
  return combined(input, {
    params,
    groups,
    parts: [fromTable, fromRollup],
    name: `${rollup.databaseName}.${rollup.tableName}`,
  });
}

/** Undefined for a column that the rollup does not keep; the error then comes from the table itself. */
async function partsOf(input: PlanInput, over: PlanInput, params: Params) {
  const types = new ExpressionTypes();
  try {
    const conditions = await conditionsOf(over, params);
    const groups = await groupExpressions(over, params, types);
    const time = rowTime(input, params, types);
    await types.ask(input, params);
    return { conditions, groups: groups(), time: time() };
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

type Part = {
  readonly from: TableSchema;
  readonly bucket: string;
  readonly where: string;
  readonly values: readonly string[];
  readonly groups: readonly TypedExpression[];
  readonly conditions: readonly ConditionOf[];
};

function part(input: PlanInput, { from, bucket, where, values, groups, conditions }: Part): string {
  const prefix = alias(input.schema.columns);
  const keys = [bucket, ...groups.map(({ sql }) => sql)].map((sql, i) => `${sql} AS ${prefix}${i}`);
  const filters = [...new Set(conditions.map(({ sql }) => sql))];
  const any = filters.includes(undefined) ? [] : [`(${filters.join(" OR ")})`];
  return [
    `SELECT ${[...keys, ...values.map((value, i) => `toFloat64(${value}) AS ${prefix}v${i}`)].join(", ")}`,
    `FROM ${tableName(from.database, from.table)}`,
    `WHERE ${[where, ...any].join(" AND ")}`,
    `GROUP BY ${keys.map((_, i) => `${prefix}${i}`).join(", ")}`,
  ].join("\n");
}

function combined(
  input: PlanInput,
  {
    params,
    groups,
    parts,
    name,
  }: { params: Params; groups: readonly TypedExpression[]; parts: string[]; name: string },
): QueryPlan {
  const prefix = alias(input.schema.columns);
  const keys = [0, ...groups.map((_, i) => i + 1)].map((i) => `${prefix}${i}`).join(", ");
  const values = input.series.map(({ item }, i) => `${combineOf(item.aggFn)}(${prefix}v${i})`);
  return {
    series: input.series,
    sql: `SELECT ${keys}, ${values.join(", ")}\nFROM (${parts.join("\nUNION ALL\n")})\nGROUP BY ${keys}\nORDER BY ${keys}`,
    params,
    decoding: {
      kind: "rows",
      wrapped: undefined,
      numbers: numbersOf(groups),
      values: values.map(() => "number" as const),
      dropEmpty: false,
    },
    // Its rows change apart from the table's, so the table's version does not vouch for them.
    volatile: true,
    fromCaller: true,
    rollup: name,
  };
}

/** The columns that both tables have with one type, or undefined when the rollup lacks its own time. */
function keptColumns(schema: TableSchema, { rollup, schema: own }: RollupTable): TableSchema | undefined {
  if (!["date", "dateTime"].includes(own.columns.get(rollup.timestampColumn)?.type.family ?? "")) return undefined;
  const names = rollup.dimensionColumns.split(",").map((name) => name.trim());
  const kept = [...schema.columns].filter(
    ([name, { type }]) => names.includes(name) && own.columns.get(name)?.type.text === type.text,
  );
  return { ...schema, columns: new Map(kept) };
}

/** The rollup's column for a series: sums of whole numbers, counts and extremes are exact whatever the order. */
function aggregatedColumn(
  { item }: Series,
  schema: TableSchema,
  { rollup, schema: own }: RollupTable,
): Aggregated | undefined {
  if (!["count", "sum", "min", "max"].includes(item.aggFn)) return undefined;
  const type = schema.columns.get(item.field ?? "")?.type;
  const exact = type?.family === "integer" && !type.nullable;
  if (item.aggFn !== "count" && !exact) return undefined;
  const found = rollup.aggregatedColumns.find(
    ({ aggFn, sourceColumn }) => aggFn === item.aggFn && (aggFn === "count" || sourceColumn === item.field),
  );
  const column = found && own.columns.get(found.mvColumn);
  return column && { column: identifier(column.name), type: column.type };
}

function combineOf(aggFn: string): Combine {
  return aggFn === "min" || aggFn === "max" ? aggFn : "sum";
}

function rawValue(aggFn: string, field: string | undefined, { flag }: ConditionOf): string {
  if (aggFn === "count") return `sum(${flag})`;
  const column = identifier(field as string);
  return aggFn === "sum" ? `sumIf(toFloat64(${column}), ${flag})` : `${aggFn}OrNullIf(${column}, ${flag})`;
}

/** A state is merged; a plain number is added up or compared. */
function mergedValue(aggFn: string, { column, type }: Aggregated, flag: string): string {
  const extreme = aggFn === "min" || aggFn === "max";
  if (type.family === "aggregate") return `${aggFn}Merge${extreme ? "OrNull" : ""}If(${column}, ${flag})`;
  return extreme ? `${aggFn}OrNullIf(${column}, ${flag})` : `sumIf(toFloat64(${column}), ${flag})`;
}
