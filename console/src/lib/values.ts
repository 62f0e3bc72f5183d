/** Cells of a result: how a value of a ClickHouse type is shown, aligned and compared. No digit is lost on the way. */

import { parseLocal } from "./zone.ts";

export type GridColumn = { readonly name: string; readonly type: string };

/** One row of a result, in the order of its columns. Integers of 64 bits and more, and decimals, are text. */
export type GridRow = readonly unknown[];

export type ValueKind = "integer" | "decimal" | "float" | "boolean" | "time" | "text" | "composite";

/** The type without what only says how it is stored. */
export function plainType(type: string): string {
  const inner = /^(?:Nullable|LowCardinality)\((.*)\)$/s.exec(type)?.[1];
  return inner === undefined ? type : plainType(inner);
}

export function kindOf(type: string): ValueKind {
  const plain = plainType(type);
  if (/^U?Int\d+$/.test(plain)) return "integer";
  if (/^Decimal/.test(plain)) return "decimal";
  if (/^B?Float\d+$/.test(plain)) return "float";
  if (plain === "Bool") return "boolean";
  if (/^(Date|DateTime)(32|64)?\b/.test(plain)) return "time";
  return /^(Array|Map|Tuple|Nested|JSON|Object|Variant|Dynamic)\b/.test(plain) ? "composite" : "text";
}

/** True for kinds whose digits stand below each other. */
export function isNumeric(kind: ValueKind): boolean {
  return kind === "integer" || kind === "decimal" || kind === "float";
}

/** Milliseconds since 1970 of a time or date as the engine writes it; NaN of other values. Without a zone it is UTC. */
export function timeOf(value: unknown, type: string): number {
  if (/Z$/.test(String(value))) return Date.parse(String(value));
  const zone = /'([^']+)'\)$/.exec(plainType(type))?.[1] ?? "UTC";
  const [day, clock = "00:00:00"] = String(value).split(" ");
  return parseLocal(`${day}T${clock.replace(/(\.\d{3})\d*$/, "$1")}`, zone);
}

/** The whole value as text; NULL as `NULL`. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Orders two values of a column; NULL and NaN come last in both directions. */
export function compareValues(a: unknown, b: unknown, kind: ValueKind, descending: boolean): number {
  const [aLast, bLast] = [isLast(a, kind), isLast(b, kind)];
  if (aLast || bLast) return Number(aLast) - Number(bLast);
  const order = ascending(a, b, kind);
  return descending ? -order : order;
}

function isLast(value: unknown, kind: ValueKind): boolean {
  if (value === null || value === undefined) return true;
  return kind === "float" && Number.isNaN(floatOf(value));
}

function ascending(a: unknown, b: unknown, kind: ValueKind): number {
  if (kind === "integer") return sign(BigInt(a as string), BigInt(b as string));
  if (kind === "float") return sign(floatOf(a), floatOf(b));
  if (kind === "decimal") return compareDecimals(String(a), String(b));
  return sign(cellText(a), cellText(b));
}

function sign<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The engine writes `inf`, `-inf` and `nan` as text. */
function floatOf(value: unknown): number {
  if (value === "inf" || value === "+inf") return Number.POSITIVE_INFINITY;
  return value === "-inf" ? Number.NEGATIVE_INFINITY : Number(value);
}

function compareDecimals(a: string, b: string): number {
  const digits = Math.max(fraction(a).length, fraction(b).length);
  return sign(scaled(a, digits), scaled(b, digits));
}

function fraction(text: string): string {
  return text.split(".")[1] ?? "";
}

function scaled(text: string, digits: number): bigint {
  return BigInt(`${text.split(".")[0] ?? "0"}${fraction(text).padEnd(digits, "0")}`);
}
