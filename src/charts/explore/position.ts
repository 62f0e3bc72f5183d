/**
 * Where a page of rows ends. Rows are sorted by their values, and those that look alike are counted: so the next page
 * goes on exactly there, although rows have no id of their own, may share a time, and are added meanwhile.
 */

import { createHash } from "node:crypto";
import { z } from "zod";
import type { ColumnType } from "../../clickhouse/types.ts";
import { badRequest } from "../../lib/errors.ts";
import { parsedJson } from "../../lib/json.ts";
import type { Params } from "../columns/params.ts";

/** One of the values that rows are sorted by. */
export type SortKey = {
  readonly sql: string;
  readonly type: ColumnType;
  readonly descending: boolean;
};

/** The value of a key, as `keyText` writes it; null where it is missing. */
export type KeyValue = string | null;

const position = z.object({
  /** A digest of the request that the cursor belongs to. */
  of: z.string(),
  values: z.array(z.string().nullable()),
  /** Rows with these values that the pages so far had. */
  seen: z.int().min(1).max(1_000_000_000),
});

export type PagePosition = z.output<typeof position>;

/** The opaque form. */
export function writeCursor(at: PagePosition): string {
  return Buffer.from(JSON.stringify(at)).toString("base64url");
}

/** Throws AppError when the text is not a cursor of the request. */
export function readCursor(cursor: string, of: string, keys: number): PagePosition {
  const parsed = position.safeParse(parsedJson(Buffer.from(cursor, "base64url").toString("utf8")));
  if (parsed.success && parsed.data.of === of && parsed.data.values.length === keys) return parsed.data;
  throw badRequest("cursor", "is not a cursor of this request; all members but limit stay the same from page to page");
}

/** The digest by which a cursor is recognized as one of the request. */
export function digestOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

/** The value in a form that `keyValue` reads without loss; NULL where it is missing or no number. */
export function keyText({ sql, type }: SortKey): string {
  const text = type.family === "dateTime" ? `toUnixTimestamp64Nano(toDateTime64(${sql}, 9))` : sql;
  const plain = `CAST(toString(${text}) AS Nullable(String))`;
  return type.family === "float" ? `if(ifNull(isNaN(${sql}), 1), NULL, ${plain})` : plain;
}

function keyValue(value: string, { type }: SortKey, params: Params): string {
  if (type.family === "dateTime") return `fromUnixTimestamp64Nano(${params.bind(value, "Int64")})`;
  const bound = params.bind(value, "String");
  return type.family === "text" ? bound : `CAST(${bound} AS ${baseOf(type)})`;
}

/** The type without what says that values may be missing or repeat. */
function baseOf({ text }: ColumnType): string {
  const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/s.exec(text)?.[1];
  return inner === undefined ? text : baseOf({ text: inner } as ColumnType);
}

/** Whether the value may be missing: such rows come last. */
function missing({ sql, type }: SortKey): string | undefined {
  if (type.family === "float") return `ifNull(isNaN(${sql}), 1)`;
  return type.nullable ? `isNull(${sql})` : undefined;
}

/** The terms of ORDER BY. */
export function sortTerms(keys: readonly SortKey[]): string[] {
  return keys.flatMap((key) => {
    const last = missing(key);
    const term = `${key.sql}${key.descending ? " DESC" : ""}`;
    return last === undefined ? [term] : [last, term];
  });
}

/** The condition that a row comes after the values, or, with `orAt`, is one of those that have them. */
export function isAfter(keys: readonly SortKey[], values: readonly KeyValue[], params: Params, orAt: boolean): string {
  const [key, ...others] = keys;
  const [value, ...rest] = values;
  if (key === undefined || value === undefined) return orAt ? "true" : "false";
  const inner = isAfter(others, rest, params, orAt);
  const last = missing(key);
  if (value === null) return last === undefined ? "false" : `(${last} AND ${inner})`;
  const bound = keyValue(value, key, params);
  const beyond = `${key.sql} ${key.descending ? "<" : ">"} ${bound}`;
  const within = `(${beyond} OR (${key.sql} = ${bound} AND ${inner}))`;
  return last === undefined ? within : `(${last} OR ifNull(${within}, false))`;
}

/** The condition that a row has the value or comes after it: what `isAfter` implies, in a form that prunes. */
export function isNotBefore(key: SortKey, value: KeyValue, params: Params): string {
  const last = missing(key);
  if (value === null) return last ?? "true";
  const within = `${key.sql} ${key.descending ? "<=" : ">="} ${keyValue(value, key, params)}`;
  return last === undefined ? within : `(${last} OR ifNull(${within}, false))`;
}

/** The condition that a row does not come after all those with the value. */
export function isNotBeyond(key: SortKey, value: KeyValue, params: Params): string {
  if (value === null) return "true";
  const last = missing(key);
  const within = `${key.sql} ${key.descending ? ">=" : "<="} ${keyValue(value, key, params)}`;
  return last === undefined ? within : `(NOT ${last} AND ifNull(${within}, false))`;
}
