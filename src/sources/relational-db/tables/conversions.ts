/**
 * SQL that turns text as Postgres prints it into values of the engine. Each conversion takes everything that Postgres
 * can print for its type, passes NULL on, and uses no function that a service refuses.
 */
import { literal } from "../../../clickhouse/sql.ts";

/** Values of one type. */
export type Scalar = {
  readonly type: string;
  /** The TabSeparated parser reads the text right, so that a column needs no expression. */
  readonly direct: boolean;
  /**
   * SQL over the SQL of a text or NULL: a value of `type`, the zero value for NULL. It must not cast to Nullable: that
   * turns text which it cannot read into NULL, without an error.
   */
  readonly convert: (text: string) => string;
  /**
   * SQL of Postgres over a column: the same value as `convert` makes of it, printed so that the TabSeparated parser
   * reads it right. NULL stays NULL, which the parser takes for the zero value of a type that is not `nullable`.
   */
  readonly printed?: (column: string, nullable: boolean) => string;
  /** SQL that says which texts are stored as NULL; NULL itself by default. */
  readonly isNothing?: (text: string) => string;
  /** An array of these is a list of numbers, parsed as a whole. */
  readonly number?: boolean;
  /** Postgres may put an array element of this type in quotes. */
  readonly quoted?: boolean;
};

export const textScalar: Scalar = { type: "String", direct: true, quoted: true, convert: (x) => `ifNull(${x}, '')` };
export const labelScalar: Scalar = { ...textScalar, type: "LowCardinality(String)" };
export const boolScalar: Scalar = simple("Bool", "f");
export const uuidScalar: Scalar = simple("UUID", "00000000-0000-0000-0000-000000000000");
/** Up to 24:00:00. */
export const timeScalar: Scalar = simple("Time64(6)", "00:00:00");

/** `\x6869` to the bytes themselves. */
export const bytesScalar: Scalar = {
  ...textScalar,
  direct: false,
  convert: (x) => `unhex(substring(ifNull(${x}, ''), 3))`,
};

export function numberScalar(type: string): Scalar {
  return { ...simple(type, "0"), number: true };
}

/** NaN, which a Decimal cannot hold, is stored like NULL. */
export function decimalScalar(precision: number, scale: number): Scalar {
  const type = `Decimal(${precision}, ${scale})`;
  return {
    type,
    direct: false,
    convert: (x) => `CAST(if(${x} = 'NaN', '0', ifNull(${x}, '0')) AS ${type})`,
    printed: (column) => `nullif(${column}::pg_catalog.numeric, 'NaN')`,
    isNothing: (x) => `isNull(${x}) OR ${x} = 'NaN'`,
  };
}

/** What the engine has for nothing: stands for NULL where a column is not Nullable. */
const zeroDate = "1900-01-01";
const zeroTime = "1970-01-01 00:00:00";
const firstTime = "0001-01-01 00:00:00";
const lastTime = "9999-12-31 23:59:59.999999";
const lastDate = "2299-12-31";

const asDate = { type: "Date32", direct: false, quoted: true } as const;

/** Clamped to the years that Date32 promises. */
export const dateScalar: Scalar = {
  ...asDate,
  convert: (x) => `CAST(${clamped(x, zeroDate, lastDate, `ifNull(${x}, '${zeroDate}')`)} AS Date32)`,
  printed: (column, nullable) => {
    const value = printedWithin(`${column}::pg_catalog.date`, { first: zeroDate, last: lastDate, type: "date" });
    // The parser would make 1970-01-01 of NULL.
    return nullable ? value : `coalesce(${value}, '${zeroDate}'::pg_catalog.date)`;
  },
};

const asTimestamp = { type: "DateTime64(6, 'UTC')", direct: false, quoted: true } as const;

/** Clamped to the years that the engine prints. */
export const timestampScalar: Scalar = {
  ...asTimestamp,
  convert: (x) => clampedTimestamp(x, x),
  printed: (column) => printedWithin(`${column}::pg_catalog.timestamp`, printedTimes),
};

/** The session prints in UTC: the offset is always `+00`. */
export const timestampWithZoneScalar: Scalar = {
  ...asTimestamp,
  convert: (x) => clampedTimestamp(x, withoutOffset(x)),
  printed: (column) => {
    const value = `${column}::pg_catalog.timestamptz`;
    return printedWithin(value, printedTimes, { type: "timestamptz", shown: `pg_catalog.timezone('UTC', ${value})` });
  },
};

/** Days and microseconds of the 400 years after which the calendar repeats. */
const cycle = { days: "146097", micros: "12622780800000000" };
/** Over the names of `withYear`: the same day of the cycle from 1900 to 2299, which are the years of Date32. */
const inFirstCycle = "concat(toString(1900 + positiveModulo(y - 1900, 400)), substring(p, position(p, '-')))";
const cycles = "toInt64(floor((y - 1900) / 400))";

/**
 * Every date as its number of days, so that no two keys become one. The engine prints what lies outside of the years
 * 0000 to 9999 as the end of that range. Infinity is the largest and the smallest number.
 */
export const exactDateScalar: Scalar = {
  ...asDate,
  convert: (x) => {
    const usual = `CAST(CAST(${usualText(x, x, zeroDate)} AS DateTime64(0, 'UTC')) AS Date32)`;
    const days = `toInt32(toDate32OrZero(${inFirstCycle})) + ${cycles} * ${cycle.days} - 10957`;
    const offset = `multiIf(t = 'infinity', 2147472690, t = '-infinity', -2147494605, ${days})`;
    return `if(${isUsual(x)}, ${usual}, toDate32('2000-01-01') + toInt32(${withYear(x, withoutEra(x), offset)}))`;
  },
};

/**
 * Microseconds since 1970: exact up to the year 294246, in which they end. Infinity is the largest and the smallest of
 * them, as within Postgres, whose timestamps end in 294276.
 */
export const exactTimestampScalar: Scalar = { ...asTimestamp, convert: (x) => anyTimestamp(x, x, withoutEra(x)) };
export const exactTimestampWithZoneScalar: Scalar = {
  ...asTimestamp,
  convert: (x) => anyTimestamp(x, withoutOffset(x), withoutOffset(withoutEra(x))),
};

/** A value of the scalar from the SQL of its text or NULL; NULL is the zero value without `nullable`. */
export function convertScalar(scalar: Scalar, x: string, nullable: boolean): string {
  if (!nullable) return scalar.convert(x);
  return `if(${scalar.isNothing?.(x) ?? `isNull(${x})`}, NULL, ${scalar.convert(x)})`;
}

/**
 * An Array from `{...}`: elements in the order of storage. A value of several dimensions is flattened, as `unnest`
 * does; lower bounds are left out. NULL elements are zero values without `nullable`; NULL itself must come as ''.
 */
export function convertArray(element: Scalar, x: string, delimiter: string, nullable: boolean): string {
  const body = `if(startsWith(${x}, '['), substring(${x}, position(${x}, '=') + 1), ${x})`;
  const type = `Array(${nullable ? nullableOf(element.type) : element.type})`;
  if (element.number === true) {
    const flat = `concat('[', replaceAll(replaceAll(${body}, '{', ''), '}', ''), ']')`;
    return `CAST(${nullable ? flat : `replaceAll(${flat}, 'NULL', '0')`} AS ${type})`;
  }
  const pattern = String.raw`"(?:[^"\\]|\\["\\])*"|[^{}"${/\w/.test(delimiter) ? delimiter : `\\${delimiter}`}]+`;
  const texts = `arrayMap(e -> nullIf(e, 'NULL'), extractAll(${body}, ${literal(pattern)}))`;
  const plain = element.quoted === true ? `arrayMap(e -> ${unquoted("e")}, ${texts})` : texts;
  return `CAST(arrayMap(e -> ${convertScalar(element, "e", nullable)}, ${plain}) AS ${type})`;
}

/** `Nullable` goes inside of `LowCardinality`. */
export function nullableOf(type: string): string {
  const inner = /^LowCardinality\((.*)\)$/.exec(type)?.[1];
  return inner === undefined ? `Nullable(${type})` : `LowCardinality(Nullable(${inner}))`;
}

function simple(type: string, zero: string): Scalar {
  return { type, direct: true, convert: (x) => `CAST(ifNull(${x}, '${zero}') AS ${type})` };
}

/** Array elements have backslashes before quotes and backslashes only. */
function unquoted(x: string): string {
  const inside = `substring(${x}, 2, length(${x}) - 2)`;
  const unescaped = `replaceRegexpAll(${inside}, ${literal(String.raw`\\(["\\])`)}, ${literal(String.raw`\1`)})`;
  return `if(startsWith(${x}, '"'), ${unescaped}, ${x})`;
}

/** `-infinity` and years before Christ, then `infinity` and years of more than four digits, then `usual`. */
function clamped(x: string, first: string, last: string, usual: string): string {
  const early = `startsWith(${x}, '-') OR endsWith(${x}, 'BC')`;
  return `multiIf(${early}, '${first}', substring(${x}, 5, 1) != '-', '${last}', ${usual})`;
}

function clampedTimestamp(x: string, printed: string): string {
  const usual = `ifNull(${printed}, '${zeroTime}')`;
  return `CAST(${clamped(x, firstTime, lastTime, usual)} AS DateTime64(6, 'UTC'))`;
}

const printedTimes = { first: firstTime, last: lastTime, type: "timestamp" };

/**
 * SQL of Postgres: the value, or the first or last of the range. Infinity lies outside of every range. `instead` is of
 * another type than the constants: how it is compared, in UTC, and how it is shown.
 */
function printedWithin(
  value: string,
  { first, last, type }: { readonly first: string; readonly last: string; readonly type: string },
  instead: { readonly type: string; readonly shown: string } = { type, shown: value },
): string {
  const limit = (text: string) => `'${text}'::pg_catalog.${instead.type}`;
  const constant = (text: string) => `'${text}'::pg_catalog.${type}`;
  const early = `WHEN ${value} < ${limit(first)} THEN ${constant(first)}`;
  return `CASE ${early} WHEN ${value} > ${limit(last)} THEN ${constant(last)} ELSE ${instead.shown} END`;
}

/** `bare` is without its offset, `printed` also without its era. */
function anyTimestamp(x: string, bare: string, printed: string): string {
  const micros =
    `multiIf(t = 'infinity' OR y > 294246, 9223372036854775807, t = '-infinity', -9223372036854775808, ` +
    `toUnixTimestamp64Micro(toDateTime64OrZero(${inFirstCycle}, 6, 'UTC')) + ${cycles} * ${cycle.micros})`;
  return (
    `if(${isUsual(x)}, CAST(${usualText(x, bare, zeroTime)} AS DateTime64(6, 'UTC')), ` +
    `fromUnixTimestamp64Micro(toInt64(${withYear(x, printed, micros)}), 'UTC'))`
  );
}

/** NULL, or a year of four digits after Christ. */
function isUsual(x: string): string {
  return `(isNull(${x}) OR (substring(${x}, 5, 1) = '-' AND NOT endsWith(${x}, 'BC')))`;
}

/** What the usual conversion can take, also from NULL and from rows whose result is not used. */
function usualText(x: string, bare: string, instead: string): string {
  return `if(${isUsual(x)}, ifNull(${bare}, '${instead}'), '${instead}')`;
}

function withoutEra(x: string): string {
  return `if(endsWith(${x}, ' BC'), substring(${x}, 1, length(${x}) - 3), ${x})`;
}

function withoutOffset(x: string): string {
  return `replaceOne(${x}, '+00', '')`;
}

/** SQL over the text `t`, what is printed without its era `p`, and the year `y`, in which 1 BC is 0. */
function withYear(x: string, printed: string, sql: string): string {
  const digits = "toInt32OrZero(substring(p, 1, position(p, '-') - 1))";
  const year = `if(endsWith(t, 'BC'), 1 - ${digits}, ${digits})`;
  return `arrayMap((t, p) -> arrayMap(y -> ${sql}, [${year}])[1], [ifNull(${x}, '')], [ifNull(${printed}, '')])[1]`;
}
