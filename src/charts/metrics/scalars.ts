/**
 * Gauges and sums. First every series of the metric gives one number per bucket (a gauge its last value, a sum what it
 * grew by), then the aggregate is over the series.
 */

import { tableName } from "../../clickhouse/sql.ts";
import { badRequest } from "../../lib/errors.ts";
import { numbersOf } from "../plan/conditions.ts";
import type { PlanInput, QueryPlan, Series } from "../plan/plan.ts";
import { quantileSql } from "../plan/quantile.ts";
import { keysOf, type Points, readPoints } from "./points.ts";

export async function planGauge(input: PlanInput): Promise<QueryPlan> {
  const points = await readPoints(input);
  const { prefix, flags, values, time } = points;
  const keys = keysOf(points);
  const perSeries = input.series.map((_, i) =>
    [
      `argMaxIf(${values[i]}, ${time}, ${flags[i]}) AS ${prefix}v${i}`,
      `maxIf(${time}, ${flags[i]}) AS ${prefix}t${i}`,
      `max(${flags[i]}) AS ${prefix}n${i}`,
    ].join(", "),
  );
  const inner = [
    `SELECT ${[keys.select, ...perSeries].join(", ")}`,
    `FROM ${tableName(input.schema.database, input.schema.table)}`,
    `WHERE ${points.where(points.fromMs)}`,
    `GROUP BY ${keys.names}, ${points.identity}`,
  ].join("\n");
  return finish(input, points, inner);
}

/**
 * A delta point is its own growth. A cumulative point has grown by the difference to the point before; after a reset,
 * by its whole value. The first point of a series grew by nothing, unless it says that it began to count within the
 * rows that are read. A sum that may fall (IsMonotonic = false) is a level: the bucket's last value.
 */
export async function planSum(input: PlanInput): Promise<QueryPlan> {
  const points = await readPoints(input);
  const { prefix, flags, values, time, has } = points;
  const keys = keysOf(points);
  const name = (letter: string) => `${prefix}${letter}`;
  const start = has("StartTimeUnix") ? "StartTimeUnix" : undefined;
  const series = input.series.map((_, i) => i);
  const readFromMs = Math.max(0, points.fromMs - points.lookBackMs);
  const distinct = [...new Set(values)];
  const previous = `OVER (PARTITION BY ${name("p")} ORDER BY ${name("t")} ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)`;
  const rows = [
    `SELECT ${keys.select}, ${time} AS ${name("t")}, ${points.identity} AS ${name("s")},`,
    `cityHash64(${points.identity}${start === undefined ? "" : `, ${start}`}) AS ${name("p")},`,
    `${has("AggregationTemporality") ? "AggregationTemporality = 1" : "false"} AS ${name("d")},`,
    `${has("IsMonotonic") ? "IsMonotonic != 0" : "true"} AS ${name("m")},`,
    `${start === undefined ? "false" : `${start} >= ${points.fromSql(readFromMs)} AND ${start} < ${time}`} AS ${name("b")},`,
    distinct.map((value, i) => `toFloat64(${value}) AS ${name("x")}${i}`).join(", "),
    `, ${series.map((i) => `${flags[i]} AS ${name("f")}${i}`).join(", ")},`,
    distinct.map((_, i) => `any(toNullable(${name("x")}${i})) ${previous} AS ${name("y")}${i}`).join(", "),
    `FROM ${tableName(input.schema.database, input.schema.table)}`,
    `WHERE ${points.where(readFromMs)}`,
  ].join("\n");
  const growth = (i: number) => {
    const [now, before] = [`${name("x")}${i}`, `${name("y")}${i}`];
    const first = `if(${name("b")}, ${now}, 0)`;
    return `multiIf(${name("d")}, ${now}, isNull(${before}), ${first}, ${now} < ${before}, ${now}, ${now} - assumeNotNull(${before}))`;
  };
  const perSeries = series.map((i) => {
    const value = distinct.indexOf(values[i] as string);
    const flag = `${name("f")}${i}`;
    const level = `argMaxIf(${name("x")}${value}, ${name("t")}, ${flag})`;
    const grown = `sumIf(${growth(value)}, ${flag})`;
    return [
      `if(min(${name("m")} OR ${name("d")}), ${grown}, ${level}) AS ${name("v")}${i}`,
      `maxIf(${name("t")}, ${flag}) AS ${name("t")}${i}`,
      `max(${flag}) AS ${name("n")}${i}`,
    ].join(", ");
  });
  const inner = [
    `SELECT ${[keys.names, ...perSeries].join(", ")}`,
    `FROM (${rows})`,
    `WHERE ${name("t")} >= ${points.fromSql(points.fromMs)}`,
    `GROUP BY ${keys.names}, ${name("s")}`,
  ].join("\n");
  return finish(input, points, inner);
}

/** The aggregates over the series of a bucket and group. */
function finish(input: PlanInput, points: Points, inner: string): QueryPlan {
  const keys = keysOf(points);
  const aggregates = input.series.map((series, i) => aggregate(series, `${points.prefix}`, i));
  return {
    series: input.series,
    sql: [
      `SELECT ${keys.names}, ${aggregates.join(", ")}`,
      `FROM (${inner})`,
      `GROUP BY ${keys.names}`,
      `ORDER BY ${keys.names}`,
    ].join("\n"),
    params: points.params,
    decoding: {
      kind: "rows",
      wrapped: undefined,
      numbers: numbersOf(points.groups),
      values: aggregates.map(() => "number" as const),
      dropEmpty: false,
    },
    volatile: points.volatile,
    fromCaller: true,
    rollup: undefined,
  };
}

function aggregate({ item, index }: Series, prefix: string, i: number): string {
  const value = `${prefix}v${i}`;
  const present = `${prefix}n${i} != 0`;
  switch (item.aggFn) {
    case "count":
      return `sum(${present})`;
    case "count_distinct":
      return `uniqExactIf(${value}, ${present})`;
    case "sum":
      return `sumIf(${value}, ${present})`;
    case "increase":
      if (item.metricDataType === "gauge")
        throw badRequest(`series.${index}.aggFn`, "increase needs a metric of type sum");
      return `sumIf(${value}, ${present})`;
    case "avg":
      return `avgIf(${value}, ${present})`;
    case "quantile":
      // One value per series of the metric, so few enough to be held.
      return quantileSql({ level: item.level ?? 0.5, value, float: true, filtered: present, exact: true });
    case "last_value":
      return `argMaxOrNullIf(${value}, ${prefix}t${i}, ${present})`;
    default:
      return `${item.aggFn}OrNullIf(${value}, ${present})`;
  }
}
