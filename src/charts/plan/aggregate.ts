/** The aggregate of one series as SQL: over all rows or those that meet a condition, each counted once or by weight. */

import type { SeriesItem } from "../../api/charts.ts";
import { type ColumnType, isNumeric } from "../../clickhouse/types.ts";
import { badRequest } from "../../lib/errors.ts";
import type { CellKind } from "./cells.ts";
import type { ConditionOf } from "./conditions.ts";
import type { Series, TypedExpression } from "./plan.ts";
import { quantileSql, weightedQuantileSql } from "./quantile.ts";

export type AggregateSql = { readonly sql: string; readonly kind: CellKind };

type Of = {
  /** What is aggregated; undefined counts rows. */
  readonly field: TypedExpression | undefined;
  readonly condition: ConditionOf | undefined;
  /** SQL of the time of a row. */
  readonly time: string;
  /** SQL of the number of rows that a row stands for; undefined when each stands for itself. */
  readonly weight: string | undefined;
  /** Whether quantiles may hold all values. */
  readonly exact: boolean;
};

/** One aggregate. With a condition it is of the rows that meet it, and NULL when none does, except counts and sums. */
export function aggregate({ item, index }: Series, { field, condition, time, weight, exact }: Of): AggregateSql {
  const filtered = condition?.sql === undefined ? undefined : condition.flag;
  const call = (name: string, args: string, orNull = false) => {
    const suffix = orNull && condition !== undefined ? "OrNull" : "";
    return filtered === undefined ? `${name}${suffix}(${args})` : `${name}${suffix}If(${args}, ${filtered})`;
  };
  if (item.aggFn === "count" || field === undefined) {
    if (weight !== undefined) return { sql: call("sum", weight), kind: "number" };
    // The sum of a flag is what countIf returns, and a third faster.
    return { sql: filtered === undefined ? "count()" : `sum(${filtered})`, kind: "number" };
  }
  if (item.aggFn === "count_distinct") return { sql: call("uniqExact", field.sql), kind: "number" };
  if (item.aggFn === "any") {
    const kind = isNumeric(field.type) ? "number" : "raw";
    return { sql: call("any", printable(field), true), kind };
  }
  const value = numeric(field, `series.${index}.field`);
  if (weight !== undefined && ["sum", "avg", "quantile"].includes(item.aggFn)) {
    return { sql: weighted(item, value, { weight, filtered, exact }), kind: "number" };
  }
  switch (item.aggFn) {
    case "sum": {
      // A sum would wrap around silently; a double loses digits only beyond 2^53, which JSON numbers do as well.
      const sum = call("sum", isWide(field.type) ? `toFloat64(${value.sql})` : value.sql);
      return { sql: value.nullable ? `ifNull(${sum}, 0)` : sum, kind: "number" };
    }
    case "avg":
      // The engine adds up in the type of the values before it divides.
      return { sql: call("avg", isWide(field.type) ? `toFloat64(${value.sql})` : value.sql), kind: "number" };
    case "min":
    case "max":
      return { sql: call(item.aggFn, value.sql, true), kind: "number" };
    case "last_value":
      return { sql: call("argMax", `${value.sql}, ${time}`, true), kind: "number" };
    default:
      return { sql: quantile(item, field, value.sql, { filtered, exact }), kind: "number" };
  }
}

/** Whether the engine's sums of values of the type may go beyond what it holds sums in. */
function isWide({ family, size, text }: ColumnType): boolean {
  if (family === "integer") return size >= 64;
  return family === "decimal" && Number(/Decimal\((\d+)/.exec(text)?.[1] ?? 76) > 18;
}

function quantile(
  { level }: SeriesItem,
  field: TypedExpression,
  value: string,
  { filtered, exact }: { filtered: string | undefined; exact: boolean },
): string {
  // Without rows a quantile of decimals is 0 for the engine, of doubles it is nothing.
  const plain = field.type.family !== "decimal";
  const float = !["integer", "boolean", "date", "dateTime", "decimal"].includes(field.type.family);
  return quantileSql({ level: level ?? 0.5, value: plain ? value : `toFloat64(${value})`, float, filtered, exact });
}

/** Sum, average and quantile of sampled rows. Rows without a value weigh nothing. */
function weighted(
  { aggFn, level }: SeriesItem,
  value: { readonly sql: string; readonly nullable: boolean },
  { weight, filtered, exact }: { weight: string; filtered: string | undefined; exact: boolean },
): string {
  const number = `toFloat64(${value.nullable ? `ifNull(${value.sql}, 0)` : value.sql})`;
  const present = [filtered, value.nullable ? `isNotNull(${value.sql})` : undefined].filter((one) => one !== undefined);
  const among = present.length === 0 ? "1" : `(${present.join(" AND ")})`;
  if (aggFn === "quantile") return weightedQuantileSql({ level: level ?? 0.5, exact }, { number, weight, among });
  const sum = `sumIf(${number} * ${weight}, ${among})`;
  return aggFn === "sum" ? sum : `${sum} / sumIf(${weight}, ${among})`;
}

/** How many rows a row stands for, from the source's sampleRateExpression: a whole number, 1 where there is none. */
export function weightOf({ sql, type }: TypedExpression): string {
  const count = type.family === "text" ? `toUInt64OrZero(${sql})` : `toUInt64OrZero(toString(${sql}))`;
  return `greatest(${type.nullable || type.family === "dynamic" ? `ifNull(${count}, 1)` : count}, 1)`;
}

/** A value that JSON can hold as one scalar. */
function printable(field: TypedExpression): string {
  const scalar = !["array", "map", "tuple", "json", "other", "aggregate"].includes(field.type.family);
  return scalar ? field.sql : `toString(${field.sql})`;
}

/**
 * The field as a number, natively where it is one. Times count in ms since the epoch; text that is not a number is
 * NULL.
 */
export function numeric(field: TypedExpression, path: string): { readonly sql: string; readonly nullable: boolean } {
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
