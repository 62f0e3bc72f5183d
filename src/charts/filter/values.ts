/** Reading the values of a filter: numbers and points in time, with what they bind to in the engine. */
import type { ColumnType } from "../../clickhouse/types.ts";
import type { Params } from "../columns/params.ts";
import { instantOf } from "../timezone.ts";

const integerText = /^[+-]?\d{1,77}$/;
const decimalText = /^[+-]?\d{1,38}\.\d{1,38}$/;
const numberText = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$/;

export function isNumber(text: string): boolean {
  return text.length <= 400 && numberText.test(text);
}

/** Binds a number so that comparing it with a column of the type is exact; undefined for text that is not a number. */
export function bindNumber(text: string, type: ColumnType, params: Params): string | undefined {
  if (!isNumber(text)) return undefined;
  if (type.name === "Float32" || type.name === "BFloat16") return params.bind(String(Number(text)), "Float32");
  if (type.family !== "float" && integerText.test(text)) {
    const value = BigInt(text);
    // In the column's own type where it fits: comparing equal types is the engine's fastest loop.
    const integer = type.family === "integer" && fits(value, type) ? type.name : integerType(value);
    if (integer !== undefined) return params.bind(String(value), integer);
  }
  if (type.family === "decimal" && decimalText.test(text)) {
    const [whole, fraction] = text.replace(/^[+-]/, "").split(".") as [string, string];
    if (whole.length + fraction.length <= 38)
      return params.bind(text.replace(/^\+/, ""), `Decimal(38, ${fraction.length})`);
  }
  const value = Number(text);
  return Number.isFinite(value) ? params.bind(String(value), "Float64") : undefined;
}

function fits(value: bigint, { name, size }: ColumnType): boolean {
  if (name.startsWith("U")) return value >= 0n && value < 2n ** BigInt(size);
  return value >= -(2n ** BigInt(size - 1)) && value < 2n ** BigInt(size - 1);
}

function integerType(value: bigint): string | undefined {
  if (value >= -(2n ** 63n) && value < 2n ** 63n) return "Int64";
  if (value >= 0n && value < 2n ** 64n) return "UInt64";
  if (value >= -(2n ** 255n) && value < 2n ** 255n) return "Int256";
  return undefined;
}

/** A point in time as far as it was given: from `from` up to, but not including, `to`; nanoseconds since the epoch. */
export type Span = { readonly from: bigint; readonly to: bigint };

const nsPerMs = 1_000_000n;
// The engine's DateTime64(9) covers 1900-01-01 to 2262-04-11.
const earliest = BigInt(Date.UTC(1900, 0, 1)) * nsPerMs;
const latest = BigInt(Date.UTC(2262, 3, 11)) * nsPerMs;

const dateText =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?$/;

/**
 * Reads `2024`, `2024-05`, `2024-05-01`, `2024-05-01T10:00`, `...:30`, `...:30.123456789`, each with an optional `Z` or
 * offset after a time, or a unix time of 10 (s), 13 (ms), 16 (us) or 19 (ns) digits. Without an offset the time is
 * in `zone`. Undefined for anything else, for dates that do not exist, and outside of 1900 to 2262.
 */
export function parseTime(text: string, zone: string): Span | undefined {
  const unix = /^\d+$/.test(text) ? unixSpan(text) : undefined;
  const span = unix ?? calendarSpan(text, zone);
  return span !== undefined && span.from >= earliest && span.to <= latest ? span : undefined;
}

function unixSpan(text: string): Span | undefined {
  const unit = { 10: 1_000_000_000n, 13: 1_000_000n, 16: 1000n, 19: 1n }[text.length];
  return unit === undefined ? undefined : { from: BigInt(text) * unit, to: (BigInt(text) + 1n) * unit };
}

function calendarSpan(text: string, zone: string): Span | undefined {
  const match = dateText.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const clock = {
    year: Number(year),
    month: Number(month ?? 1),
    day: Number(day ?? 1),
    hour: Number(hour ?? 0),
    minute: Number(minute ?? 0),
    second: Number(second ?? 0),
  };
  if (!exists(clock)) return undefined;
  const at = (shift: Partial<typeof clock>) => {
    const moved = { ...clock, ...shift };
    if (offset === undefined) return BigInt(instantOf(normal(moved), zone)) * nsPerMs;
    return BigInt(utc(moved) - offsetMs(offset)) * nsPerMs;
  };
  const from = at({});
  if (month === undefined) return { from, to: at({ year: clock.year + 1 }) };
  if (day === undefined) return { from, to: at({ month: clock.month + 1 }) };
  if (hour === undefined) return { from, to: at({ day: clock.day + 1 }) };
  if (second === undefined) return { from, to: from + 60_000n * nsPerMs };
  if (fraction === undefined) return { from, to: from + 1000n * nsPerMs };
  const exact = from + BigInt(fraction.padEnd(9, "0"));
  return { from: exact, to: exact + 10n ** BigInt(9 - fraction.length) };
}

type Clock = { year: number; month: number; day: number; hour: number; minute: number; second: number };

function utc(clock: Clock): number {
  return Date.UTC(clock.year, clock.month - 1, clock.day, clock.hour, clock.minute, clock.second);
}

/** Carries a month of 13 or a day of 32 over into the next unit. */
function normal(clock: Clock): Clock {
  const date = new Date(utc(clock));
  return { ...clock, year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function exists(clock: Clock): boolean {
  const date = new Date(utc(clock));
  return (
    date.getUTCMonth() + 1 === clock.month &&
    date.getUTCDate() === clock.day &&
    clock.hour < 24 &&
    clock.minute < 60 &&
    clock.second < 60
  );
}

function offsetMs(offset: string): number {
  if (offset === "Z") return 0;
  const digits = offset.replace(/\D/g, "");
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  return (offset.startsWith("-") ? -1 : 1) * minutes * 60_000;
}

/** Binds an instant for comparing with a DateTime or DateTime64 column. */
export function bindInstant(ns: bigint, params: Params): string {
  const ms = ns >= 0n ? ns / nsPerMs : (ns - nsPerMs + 1n) / nsPerMs;
  const rest = ns - ms * nsPerMs;
  const iso = new Date(Number(ms)).toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 23)}${String(rest).padStart(6, "0")}`;
  return params.bind(text, "DateTime64(9, 'UTC')");
}

/** Binds the first day that does not begin before the instant (UTC), for comparing with a Date column. */
export function bindDay(ns: bigint, params: Params): string {
  const dayNs = 86_400_000n * nsPerMs;
  const day = ns >= 0n ? (ns + dayNs - 1n) / dayNs : ns / dayNs;
  return params.bind(new Date(Number(day) * 86_400_000).toISOString().slice(0, 10), "Date32");
}
