/**
 * When a row happened, by the source's list of time expressions. The finest one decides which rows belong to a range;
 * the coarser ones, and those that the table is sorted by, only prune, with as much room as they may be away from it:
 * they never change which rows count.
 */

import type { ColumnType } from "../../clickhouse/types.ts";
import { badRequest } from "../../lib/errors.ts";
import { memoize } from "../../lib/memoize.ts";
import type { Params } from "../columns/params.ts";
import { type TableSchema, tableSchema } from "../columns/schema.ts";
import { at } from "../errors.ts";
import { emitParsed } from "../expression/emit.ts";
import { parsedExpression, parseExpressions } from "../expression/parser.ts";
import type { Expression as Parsed } from "../expression/syntax.ts";
import { dayAt } from "../timezone.ts";
import type { ExpressionTypes, PlanInput, Typed, TypedExpression } from "./plan.ts";
import { sizeOf, truncationOf } from "./truncation.ts";

export type RowTime = {
  /** The finest of the source's time expressions: buckets, "last" and the range are by it. */
  readonly finest: TypedExpression;
  readonly coarser: readonly NearTime[];
  /** What the table is sorted by and made of the finest time, as in `toStartOfHour(ts)`: the source need not say it. */
  readonly sorted: readonly NearTime[];
};

type NearTime = TypedExpression & { readonly room: Room };

/** How far a coarser time may be before and after the row's own time. */
type Room = { readonly beforeMs: number; readonly afterMs: number };

const dayMs = 86_400_000;
/** Between a day in some zone and the same day in UTC. */
const zoneMs = 14 * 3_600_000;
/** An unknown time column is assumed to be within a day of the row's time. */
const unknownRoomMs = dayMs;
/** The types cannot hold times from these on: they wrap around. */
const endsOfTypes: Readonly<Record<string, number>> = {
  DateTime: 2 ** 32 * 1000,
  Date: 2 ** 16 * dayMs,
};

const timePath = "source.timestampValueExpression";

/** Writes the time of a row, from the source's timestampValueExpression. */
export function rowTime(
  input: Pick<PlanInput, "source" | "schema">,
  params: Params,
  types: ExpressionTypes,
  fallback?: string,
): Typed<RowTime> {
  const text = input.source.timestampValueExpression ?? fallback ?? "";
  const parsed = at(timePath, () => parseExpressions(text));
  const emitted = at(timePath, () => parsed.map((one) => emitParsed(one, input.schema, params)));
  const typed = types.expect(emitted);
  const sorted = sortedTimes(parsed, input.schema);
  const typedSorted = types.expect(sorted.map((node) => emitParsed(node, input.schema, params)));
  return () => {
    const { node, ...time } = finestOf(typed(), parsed, input.schema);
    const made = typedSorted().flatMap((one, i): NearTime[] => {
      const key = sorted[i] as Parsed;
      if (node.kind !== "column" || truncationOf(key, asWritten)?.of !== node.text) return [];
      if (one.type.family !== "date" && one.type.family !== "dateTime") return [];
      const room = roomOf({ ...one, node: key }, node.text, asWritten);
      return room === undefined ? [] : [{ ...one, room }];
    });
    return { ...time, sorted: made };
  };
}

/** Columns are what rows have in them, and not what a DEFAULT would make of others: rows may have another value. */
const asWritten = tableSchema("", "", []);

/** The expressions of the sorting key that are made of one of these columns. */
function sortedTimes(parsed: readonly Parsed[], schema: TableSchema): Parsed[] {
  const columns = new Set(parsed.flatMap((node) => (node.kind === "column" ? [node.text] : [])));
  return sortedTimesOf(schema).flatMap(({ node, of }) => (columns.has(of) ? [node] : []));
}

const sortedTimesOf = memoize((schema: TableSchema) =>
  schema.sortedBy.flatMap((text) => {
    // The distance from the time is not known for what is not an expression of charts.
    const node = parsedExpression(text);
    const of = node && node.kind !== "column" ? truncationOf(node, asWritten)?.of : undefined;
    return node === undefined || of === undefined ? [] : [{ node, of }];
  }),
);

type Finest = Omit<RowTime, "sorted"> & { readonly node: Parsed };

function finestOf(typed: readonly TypedExpression[], parsed: readonly Parsed[], schema: TableSchema): Finest {
  for (const { type } of typed) {
    if (type.family === "date" || type.family === "dateTime") continue;
    throw badRequest(
      timePath,
      `must be a Date or DateTime, not ${type.text}; wrap it, as in fromUnixTimestamp64Milli(x)`,
    );
  }
  const all = typed.map((expression, i) => {
    const node = parsed[i] as Parsed;
    return { ...expression, node, sizeMs: sizeOf(node, expression.type, schema) };
  });
  const finest = all.reduce((best, one) => (isFiner(one, best) ? one : best));
  const coarser = all.filter((one) => one !== finest && one.sql !== finest.sql);
  const row = truncationOf(finest.node, schema)?.of;
  const rooms = coarser.flatMap(({ node, ...one }) => {
    const room = roomOf({ ...one, node }, row, schema);
    return room === undefined ? [] : [{ ...one, room }];
  });
  return { finest, coarser: rooms, node: finest.node };
}

type Sized = { readonly sizeMs: number; readonly node: Parsed };

/** Among equally fine ones, a column precedes an expression, and an earlier entry a later one. */
function isFiner(one: Sized, best: Sized): boolean {
  if (one.sizeMs !== best.sizeMs) return one.sizeMs < best.sizeMs;
  return one.node.kind === "column" && best.node.kind !== "column";
}

/** How far a time may be from the row's, which is the column `row`; undefined: unknown. */
function roomOf(
  { node, type }: { node: Parsed; type: ColumnType },
  row: string | undefined,
  schema: TableSchema,
): Room | undefined {
  const truncation = truncationOf(node, schema);
  if (truncation === undefined) return undefined;
  const zone = type.family === "date" ? zoneMs : 0;
  const near = truncation.of === row ? 0 : unknownRoomMs;
  const own = type.family === "date" ? dayMs : 1000;
  return {
    beforeMs: Math.max(truncation.beforeMs, own) + near + zone,
    afterMs: truncation.afterMs + near + zone,
  };
}

/** The condition that a row's time is from `fromMs` up to, but not including, `untilMs`. */
export function inRange(time: RowTime, fromMs: number, untilMs: number, zone: string, params: Params): string {
  return [exactly(time.finest, fromMs, untilMs, zone, params), ...nearRange(time, fromMs, untilMs, params)].join(
    " AND ",
  );
}

/** Conditions that every row of the range meets, by which the engine finds the parts of the table to read. */
export function nearRange(time: RowTime, fromMs: number, untilMs: number, params: Params): string[] {
  const bounds: string[] = [];
  for (const { sql, type, room } of [...time.coarser, ...time.sorted]) {
    const end = endsOfTypes[type.name] ?? Number.POSITIVE_INFINITY;
    if (untilMs + room.afterMs >= end) continue;
    const from = Math.max(0, fromMs - room.beforeMs);
    const until = untilMs + room.afterMs;
    const near =
      type.family === "date"
        ? `${sql} >= ${day(Math.floor(from / dayMs), params)} AND ${sql} <= ${day(Math.floor(until / dayMs), params)}`
        : `${sql} >= ${instant(from, params)} AND ${sql} <= ${instant(until, params)}`;
    // A row without the coarser time is still in the range.
    bounds.push(type.nullable ? `(isNull(${sql}) OR (${near}))` : near);
  }
  return bounds;
}

/** A Date has no time of day: it is in the range when any part of the day is, in the zone of the request. */
function exactly(
  { sql, type }: TypedExpression,
  fromMs: number,
  untilMs: number,
  zone: string,
  params: Params,
): string {
  if (type.family !== "date") return `${sql} >= ${instant(fromMs, params)} AND ${sql} < ${instant(untilMs, params)}`;
  const [first, last] = [dayAt(fromMs, zone), dayAt(untilMs - 1, zone)];
  return `${sql} >= ${day(first, params)} AND ${sql} <= ${day(last, params)}`;
}

export function instant(ms: number, params: Params): string {
  return `fromUnixTimestamp64Milli(${params.bind(String(ms), "Int64")})`;
}

function day(days: number, params: Params): string {
  return params.bind(new Date(days * dayMs).toISOString().slice(0, 10), "Date32");
}
