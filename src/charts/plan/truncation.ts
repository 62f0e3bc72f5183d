/**
 * What an expression of a time leaves out: how coarse `toStartOfHour(ts)`, `toDate(ts)` or a column made of them is.
 */
import type { ColumnType } from "../../clickhouse/types.ts";
import { splitColumn, type TableSchema } from "../columns/schema.ts";
import { parsedExpression } from "../expression/parser.ts";
import type { Expression, IntervalUnit } from "../expression/syntax.ts";

export type Truncation = {
  /** The value is at most this much before the time that it was made of. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** The column that the time is taken from. */
  readonly of: string;
};

const secondMs = 1000;
const hourMs = 3600 * secondMs;
const dayMs = 24 * hourMs;
/** A day in which clocks are put back is longer. */
const longDayMs = dayMs + 2 * hourMs;

const units: Readonly<Record<IntervalUnit, number>> = {
  Second: secondMs,
  Minute: 60 * secondMs,
  Hour: hourMs,
  Day: longDayMs,
  Week: 7 * longDayMs,
  Month: 31 * longDayMs,
  Quarter: 92 * longDayMs,
  Year: 366 * longDayMs,
};

/** Functions that return a time at or before their argument, with the greatest distance between both. */
const functions: Readonly<Record<string, number>> = {
  toTimeZone: 0,
  assumeNotNull: 0,
  toNullable: 0,
  toDateTime: secondMs,
  toDateTime64: secondMs,
  toStartOfMillisecond: 1,
  toStartOfSecond: secondMs,
  toStartOfMinute: units.Minute,
  toStartOfFiveMinutes: 5 * units.Minute,
  toStartOfTenMinutes: 10 * units.Minute,
  toStartOfFifteenMinutes: 15 * units.Minute,
  timeSlot: 30 * units.Minute,
  toStartOfHour: hourMs,
  toStartOfDay: units.Day,
  toDate: units.Day,
  toDate32: units.Day,
  toMonday: units.Week,
  toStartOfWeek: units.Week,
  toStartOfMonth: units.Month,
  toStartOfQuarter: units.Quarter,
  toStartOfYear: units.Year,
  toStartOfISOYear: units.Year + units.Week,
};

const maxDepth = 10;

/** Undefined when the distance between the value and the time is unknown. */
export function truncationOf(node: Expression, schema: TableSchema, depth = 0): Truncation | undefined {
  if (depth > maxDepth) return undefined;
  if (node.kind === "column") {
    const made = madeOf(node, schema);
    if (made === undefined) return { beforeMs: 0, afterMs: 0, of: node.text };
    return truncationOf(made, schema, depth + 1);
  }
  if (node.kind === "cast" && /^(Nullable\()?Date(Time|Time64|32)?\b/.test(node.type)) {
    return within(node.item, /Date(32)?\b(?!T)/.test(node.type) ? units.Day : secondMs, schema, depth);
  }
  if (node.kind !== "call") return undefined;
  const [first, second] = node.args;
  if (first === undefined) return undefined;
  if (node.name === "toStartOfInterval" && second?.kind === "interval" && second.item.kind === "number") {
    return within(first, Number(second.item.text) * units[second.unit], schema, depth);
  }
  const size = Object.hasOwn(functions, node.name) ? functions[node.name] : undefined;
  return size === undefined ? undefined : within(first, size, schema, depth);
}

function within(item: Expression, sizeMs: number, schema: TableSchema, depth: number): Truncation | undefined {
  const inner = truncationOf(item, schema, depth + 1);
  return inner && { ...inner, beforeMs: inner.beforeMs + sizeMs };
}

/** The expression that a column is filled with, where the table says it. */
function madeOf(node: Extract<Expression, { kind: "column" }>, schema: TableSchema): Expression | undefined {
  const [step, ...others] = node.steps;
  if (step?.kind !== "dotted" || others.length > 0) return undefined;
  const text = splitColumn(schema, step.text)?.column.madeOf;
  if (text === undefined || text === "") return undefined;
  const made = parsedExpression(text);
  return made?.kind === "call" || made?.kind === "cast" ? made : undefined;
}

/** Length in ms of the time span in which the expression has one value. */
export function sizeOf(node: Expression, type: ColumnType, schema: TableSchema): number {
  const own = type.family === "date" ? dayMs : type.name === "DateTime" ? secondMs : secondMs / 10 ** type.size;
  // A conversion to seconds leaves out no more than the type does.
  const truncated = truncationOf(node, schema)?.beforeMs ?? 0;
  return truncated <= secondMs ? own : Math.max(own, truncated);
}
