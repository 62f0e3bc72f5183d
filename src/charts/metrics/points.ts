/** What the planners of the three kinds of metrics share: which rows are points of which series, and when. */

import type { SeriesItem } from "../../api/charts.ts";
import { identifier } from "../../clickhouse/sql.ts";
import { badRequest } from "../../lib/errors.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import { Params } from "../columns/params.ts";
import { at } from "../errors.ts";
import { emitExpression } from "../expression/emit.ts";
import { numeric } from "../plan/aggregate.ts";
import { conditionsOf, groupExpressions } from "../plan/conditions.ts";
import { alias } from "../plan/events.ts";
import { ExpressionTypes, type PlanInput, type Series, type Typed, type TypedExpression } from "../plan/plan.ts";
import { inRange, instant, rowTime } from "../plan/row-time.ts";

/** Columns that distinguish the series of a metric, as far as the table has them. */
const identityColumns = [
  "MetricName",
  "ServiceName",
  "ScopeName",
  "ScopeVersion",
  "ScopeAttributes",
  "ResourceAttributes",
  "Attributes",
];

/** A counter's value is compared with the point before it, which may be this much older than the range. */
const leastLookBackMs = 15 * 60_000;

/** The bit of a point that says that there is no value at its time. */
const noRecordedValue = 1;

export type Points = {
  readonly params: Params;
  /** Prefix of our own column names. */
  readonly prefix: string;
  readonly groups: readonly TypedExpression[];
  /** SQL of the time of a point. */
  readonly time: string;
  readonly bucket: string;
  /** Hash of a series' identity. */
  readonly identity: string;
  /** One flag per series of the plan: 1 for its points. */
  readonly flags: readonly string[];
  /** One number per series of the plan. */
  readonly values: readonly string[];
  /** Rows of any series from `from` (ms) up to the end of the last bucket. */
  readonly where: (fromMs: number) => string;
  /** Start of the first bucket: buckets of metrics are always whole. */
  readonly fromMs: number;
  readonly lookBackMs: number;
  readonly fromSql: (ms: number) => string;
  readonly has: (column: string) => boolean;
  readonly volatile: boolean;
};

export async function readPoints(input: PlanInput): Promise<Points> {
  const params = new Params();
  const { schema, buckets, series } = input;
  const has = (column: string) => {
    const known = schema.columns.has(column);
    if (known) params.reads(column);
    return known;
  };
  if (!has("MetricName")) throw badRequest("source.metricTables", `${schema.table} has no column MetricName`);
  const conditions = await conditionsOf(input, params);
  const names = series.map(({ item, index }) => metricName(item, `series.${index}.metricName`));
  const flags = names.map((name, i) => {
    const named = `(MetricName = ${params.bind(name, "String")})`;
    return conditions[i]?.sql === undefined ? named : `(${named} AND ${conditions[i]?.flag})`;
  });
  const wheres = names.map((name, i) => {
    const named = `MetricName = ${params.bind(name, "String")}`;
    return conditions[i]?.sql === undefined ? `(${named})` : `(${named} AND ${conditions[i]?.sql})`;
  });
  // Their value is 0, and means nothing.
  const isFlagged = schema.columns.get("Flags")?.type.family === "integer" && has("Flags");
  const recorded = isFlagged ? ` AND bitAnd(Flags, ${noRecordedValue}) = 0` : "";
  const types = new ExpressionTypes();
  const written: Typed<string>[] = [];
  for (const { item, index } of series) written.push(await pointValue({ item, index }, input, params, types));
  const writtenGroups = await groupExpressions(input, params, types);
  const writtenTime = rowTime(input, params, types, "TimeUnix");
  await types.ask(input, params);
  const [values, groups, time] = [written.map((value) => value()), writtenGroups(), writtenTime()];
  const fromSql = (ms: number) => instant(ms, params);
  const fromMs = buckets.startOf(buckets.first);
  const untilMs = buckets.startOf(buckets.last + 1);
  return {
    params,
    prefix: alias(schema.columns),
    groups,
    time: time.finest.sql,
    bucket: buckets.sql(time.finest.sql, time.finest.type),
    identity: `cityHash64(${identityColumns.filter(has).map(identifier).join(", ")})`,
    flags,
    values,
    where: (ms) => {
      const range = inRange(time, ms, untilMs, buckets.zone, params);
      return `${range}${recorded} AND (${[...new Set(wheres)].join(" OR ")})`;
    },
    fromMs,
    lookBackMs: Math.max(buckets.sizeMs, leastLookBackMs),
    fromSql,
    has,
    volatile: [...conditions, ...groups].some((part) => part.volatile),
  };
}

function metricName(item: SeriesItem, path: string): string {
  const name = item.metricName ?? item.field;
  if (name === undefined || name === "") throw badRequest(path, "name the metric");
  return name;
}

/** The value of a point: `field` where the metric is named besides, else the column Value. */
async function pointValue(
  { item, index }: Series,
  input: PlanInput,
  params: Params,
  types: ExpressionTypes,
): Promise<Typed<string>> {
  const text = item.metricName !== undefined && item.field !== undefined && item.field !== "" ? item.field : undefined;
  if (text === undefined || !input.schema.columns.has("Value")) {
    params.reads("Value");
    return () => identifier("Value");
  }
  const path = `series.${index}.field`;
  await yieldWhenLong();
  const emitted = at(path, () => emitExpression(text, input.schema, params));
  const typed = types.expect([emitted]);
  return () => numeric(typed()[0] as TypedExpression, path).sql;
}

/** Our names for the bucket and the groups: `k0`, `k1`, ... */
export function keysOf(points: Points): { select: string; names: string } {
  const keys = [points.bucket, ...points.groups.map(({ sql }) => sql)];
  const names = keys.map((_, i) => `${points.prefix}${i}`);
  return { select: keys.map((key, i) => `${key} AS ${names[i]}`).join(", "), names: names.join(", ") };
}
