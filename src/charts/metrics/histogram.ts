/**
 * Histograms with explicit bounds. The engine turns cumulative points into growth and adds the buckets of all series
 * with equal bounds; quantiles are interpolated by `histogram-rows.ts`, where histograms of different bounds can be
 * added rightly.
 */

import { tableName } from "../../clickhouse/sql.ts";
import { badRequest } from "../../lib/errors.ts";
import { numbersOf } from "../plan/conditions.ts";
import type { PlanInput, QueryPlan } from "../plan/plan.ts";
import { keysOf, type Points, readPoints } from "./points.ts";

export async function planHistogram(input: PlanInput): Promise<QueryPlan> {
  for (const { item, index } of input.series) {
    if (!["quantile", "count", "sum", "avg"].includes(item.aggFn)) {
      throw badRequest(`series.${index}.aggFn`, `${item.aggFn} is not available for histograms`);
    }
    if (item.aggFn === "quantile" && item.level === undefined) {
      throw badRequest(`series.${index}.level`, "quantile must have a level");
    }
  }
  const points = await readPoints(input);
  for (const column of ["ExplicitBounds", "BucketCounts"]) points.params.reads(column);
  const keys = keysOf(points);
  const name = (letter: string) => `${points.prefix}${letter}`;
  const { flags } = points;
  const sums = flags.flatMap((_, i) => [
    `sumForEachIf(${name("c")}, ${name("f")}${i})`,
    `sumIf(${name("u")}, ${name("f")}${i})`,
  ]);
  const sql = [
    `SELECT ${keys.names}, ${name("o")}, ${sums.join(", ")}`,
    `FROM (${growth(input, points)})`,
    `WHERE ${name("t")} >= ${points.fromSql(points.fromMs)}`,
    `GROUP BY ${keys.names}, ${name("o")}`,
    `ORDER BY ${keys.names}`,
  ].join("\n");
  return {
    series: input.series,
    sql,
    params: points.params,
    decoding: {
      kind: "histogram",
      numbers: numbersOf(points.groups),
      series: input.series.map(({ item }) => ({ aggFn: item.aggFn, level: item.level })),
    },
    volatile: points.volatile,
    fromCaller: true,
    rollup: undefined,
  };
}

/** One row per point: its bucket and group, its bounds, and by how much its buckets and its sum grew. */
function growth(input: PlanInput, points: Points): string {
  const { has } = points;
  const keys = keysOf(points);
  const name = (letter: string) => `${points.prefix}${letter}`;
  const start = has("StartTimeUnix") ? "StartTimeUnix" : undefined;
  const readFromMs = Math.max(0, points.fromMs - points.lookBackMs);
  const previous = `OVER (PARTITION BY ${name("p")} ORDER BY ${name("t")} ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)`;
  const rows = [
    `SELECT ${keys.select}, ${points.time} AS ${name("t")},`,
    `cityHash64(${points.identity}${start === undefined ? "" : `, ${start}`}) AS ${name("p")},`,
    `${has("AggregationTemporality") ? "AggregationTemporality = 1" : "false"} AS ${name("d")},`,
    `${start === undefined ? "false" : `${start} >= ${points.fromSql(readFromMs)} AND ${start} < ${points.time}`} AS ${name("b")},`,
    `arrayMap(x -> toFloat64(x), ExplicitBounds) AS ${name("o")},`,
    `arrayMap(x -> toFloat64(x), BucketCounts) AS ${name("x")}, ${has("Sum") ? "toFloat64(Sum)" : "0."} AS ${name("z")},`,
    points.flags.map((flag, i) => `${flag} AS ${name("f")}${i}`).join(", "),
    `, any(${name("x")}) ${previous} AS ${name("y")}, any(${name("z")}) ${previous} AS ${name("w")},`,
    `count() ${previous} AS ${name("h")}`,
    `FROM ${tableName(input.schema.database, input.schema.table)}`,
    `WHERE ${points.where(readFromMs)}`,
  ].join("\n");
  const [now, before, delta] = [name("x"), name("y"), name("d")];
  // A count that fell, or other buckets than before: the instrument began anew.
  const fell = `arrayExists((a, b) -> a < b, ${now}, arrayResize(${before}, length(${now})))`;
  const reset = `(length(${now}) != length(${before}) OR ${fell})`;
  const grown = (whole: string, nothing: string, difference: string) =>
    `multiIf(${delta}, ${whole}, ${name("h")} = 0, if(${name("b")}, ${whole}, ${nothing}), ${reset}, ${whole}, ${difference})`;
  const counts = grown(
    now,
    "emptyArrayFloat64()",
    `arrayMap((a, b) -> a - b, ${now}, arrayResize(${before}, length(${now})))`,
  );
  const sum = grown(name("z"), "0.", `${name("z")} - ${name("w")}`);
  const flags = points.flags.map((_, i) => `${name("f")}${i}`).join(", ");
  return `SELECT ${keys.names}, ${name("t")}, ${name("o")}, ${flags}, ${counts} AS ${name("c")}, ${sum} AS ${name("u")}\nFROM (${rows})`;
}
