/** Types of Postgres with values that break pipelines, and how each is compared with what the engine has stored. */

export type TypeCase = {
  readonly name: string;
  /** The column's type in Postgres. */
  readonly type: string;
  /** SQL expressions; NULL is added. */
  readonly values: readonly string[];
  /**
   * SQL over the column `v` on each side that must print the same text. Without it the engine must have exactly the
   * text (or bytes) of the source.
   */
  readonly source?: string;
  readonly engine?: string;
  /** Type of the destination column without Nullable. */
  readonly stored: string;
  /** The type can be a key column; the values are then unique. */
  readonly key?: boolean;
  /** Replaces `source` where the column is a key. */
  readonly keySource?: string;
  /** How `source` prints a NULL element where the destination's elements are not Nullable. */
  readonly zeroElement?: string;
};

export const characters = [
  "E'tab\\there'",
  "E'line\\nbreak'",
  "E'cr\\rlf\\r\\n'",
  "E'back\\\\slash'",
  "E'\\\\N'",
  "E'\\\\.'",
  "'NULL'",
  "''",
  "' '",
  "E'bell\\x07 bs\\b ff\\f vt\\x0b esc\\x1b del\\x7f'",
  `'quote '' " \`, {}()'`,
  "'Grüße 🐘 \u{feff}x'",
  "'\u{feff}'",
  "'v'",
  "repeat('a\\', 3000)",
];

const micros = "(extract(epoch FROM v) * 1000000)::numeric(30)::text";
const endless = (sql: string) =>
  `CASE WHEN v >= '294247-01-01' THEN '9223372036854775807' WHEN v = '-infinity' THEN '-9223372036854775808' ELSE ${sql} END`;
/** Values outside of keys are clamped to the years that the engine prints. */
export const clampedMicros =
  "CASE WHEN v < '0001-01-01' THEN '-62135596800000000' WHEN v >= '10000-01-01' THEN '253402300799999999' " +
  `ELSE ${micros} END`;
export const times = [
  "2024-02-29 12:34:56.123456",
  "1970-01-01 00:00:00",
  "1969-12-31 23:59:59.999999",
  "0001-01-01 00:00:00",
  "9999-12-31 23:59:59.999999",
  "10000-01-01 00:00:00",
  "12399-12-31 23:59:59.999999",
  "123456-07-08 09:10:11.12",
  "294246-12-31 23:59:59.999999",
  "294247-01-01 00:00:00",
  "0001-12-31 23:59:59.5 BC",
  "0044-03-15 12:00:00 BC",
  "4713-01-01 00:00:00 BC",
  "1900-02-28 00:00:00",
  "2299-12-31 23:59:59",
  "2300-01-01 00:00:00.000001",
  "infinity",
  "-infinity",
].map((value) => `'${value}'`);
const dates = [
  "2024-02-29",
  "1970-01-01",
  "1900-01-01",
  "1899-12-31",
  "2299-12-31",
  "2300-01-01",
  "0001-01-01",
  "9999-12-31",
  "10000-01-01",
  "12399-12-31",
  "5874897-12-31",
  "4713-01-01 BC",
  "0001-02-29 BC",
  "infinity",
  "-infinity",
].map((value) => `'${value}'`);
const days = "CASE WHEN v = 'infinity' THEN 2147483647 WHEN v = '-infinity' THEN -2147483648 ELSE v - '1970-01-01' END";
export const clampedDays = `LEAST(GREATEST(${days}, -25567), 120529)`;
const floats = ["0", "-0.0", "0.1", "1e20", "123456789.12345679", "5e-324", "2.2250738585072014e-308", "1e-320"]
  .concat(["1.7976931348623157e308", "'NaN'", "'Infinity'", "'-Infinity'", "9007199254740993", "8.41e21"])
  .map((value) => `'${value.replaceAll("'", "")}'::float8`);
const bits = (type: string) => `encode(${type}send(v), 'hex')`;

export const exactCases: readonly TypeCase[] = [
  { name: "int2", type: "smallint", values: ["-32768", "0", "32767"], stored: "Int16", key: true },
  { name: "int4", type: "int", values: ["-2147483648", "0", "2147483647"], stored: "Int32", key: true },
  {
    name: "int8",
    type: "bigint",
    values: ["-9223372036854775808", "9007199254740993", "9223372036854775807"],
    stored: "Int64",
    key: true,
  },
  { name: "oid", type: "oid", values: ["0", "4294967295"], stored: "UInt32", key: true },
  { name: "xid", type: "xid", values: ["'4294967295'"], stored: "UInt32" },
  { name: "cid", type: "cid", values: ["'7'"], stored: "UInt32" },
  { name: "xid8", type: "xid8", values: ["'18446744073709551615'"], stored: "UInt64" },
  {
    name: "float8",
    type: "float8",
    values: floats,
    stored: "Float64",
    source: bits("float8"),
    engine: "if(isNaN(v), '7ff8000000000000', leftPad(lower(hex(reinterpretAsUInt64(v))), 16, '0'))",
    key: true,
  },
  {
    name: "float4",
    type: "real",
    values: ["0", "'-0'", "0.1", "1e-45", "3.4028235e38", "16777217", "'NaN'", "'Infinity'", "'-Infinity'"],
    stored: "Float32",
    source: bits("float4"),
    engine: "if(isNaN(v), '7fc00000', leftPad(lower(hex(reinterpretAsUInt32(v))), 8, '0'))",
  },
  { name: "bool", type: "bool", values: ["true", "false"], stored: "Bool", source: "v::text", key: true },
  {
    name: "numeric(p,s)",
    type: "numeric(12, 4)",
    values: ["0", "-0.0001", "99999999.9999", "-99999999.9999", "1.5"],
    stored: "Decimal(12, 4)",
    source: "(v * 10000)::numeric(12)::text",
    engine: "toString(toInt64(v * 10000))",
    key: true,
  },
  {
    name: "numeric NaN",
    type: "numeric(12, 4)",
    values: ["'NaN'", "1.5"],
    stored: "Decimal(12, 4)",
    source: "CASE WHEN v = 'NaN' THEN NULL ELSE trim_scale(v)::text END",
  },
  {
    name: "numeric(76,38)",
    type: "numeric(76, 38)",
    values: [`${"9".repeat(38)}.${"9".repeat(38)}`, `-${"9".repeat(38)}.${"9".repeat(38)}`, `0.${"0".repeat(37)}1`],
    stored: "Decimal(76, 38)",
    source: "trim_scale(v)::text",
    key: true,
  },
  {
    name: "numeric negative scale",
    type: "numeric(5, -3)",
    values: ["99999000", "-1000", "0"],
    stored: "Decimal(8, 0)",
  },
  {
    name: "numeric scale over precision",
    type: "numeric(3, 5)",
    values: ["0.00999", "-0.00001", "0"],
    stored: "Decimal(5, 5)",
    source: "trim_scale(v)::text",
  },
  {
    name: "numeric unbounded",
    type: "numeric",
    values: ["'NaN'", "'Infinity'", "'-Infinity'", "1.10", "0.00", `1e200`, `${"1".repeat(100)}.${"2".repeat(100)}`],
    stored: "String",
    key: true,
  },
  {
    name: "numeric beyond limits",
    type: "numeric(100, 50)",
    values: [`1.${"3".repeat(50)}`, "'NaN'"],
    stored: "String",
  },
  { name: "uuid", type: "uuid", values: ["'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'"], stored: "UUID", key: true },
  {
    name: "bytea",
    type: "bytea",
    values: ["''", "'\\x00'", "'\\x0a095c4e00ff5c78'", "decode(repeat('0a5cff', 5000), 'hex')"],
    stored: "String",
    source: "encode(v, 'hex')",
    engine: "lower(hex(v))",
    key: true,
  },
  {
    name: "date",
    type: "date",
    values: dates,
    stored: "Date32",
    source: `${clampedDays}::text`,
    keySource: `(${days})::text`,
    engine: "toString(toInt32(v))",
    key: true,
  },
  {
    name: "timestamp",
    type: "timestamp",
    values: times,
    stored: "DateTime64(6, 'UTC')",
    source: clampedMicros,
    keySource: endless(micros),
    engine: "toString(toUnixTimestamp64Micro(v))",
    key: true,
  },
  {
    name: "timestamptz",
    type: "timestamptz",
    values: [...times.map((value) => `(${value}::timestamp AT TIME ZONE 'UTC')`), "'2024-06-01 12:00+05:45'"],
    stored: "DateTime64(6, 'UTC')",
    source: clampedMicros,
    keySource: endless(micros),
    engine: "toString(toUnixTimestamp64Micro(v))",
    key: true,
  },
  {
    name: "timestamp text",
    type: "timestamp(3)",
    values: ["'2024-02-29 12:34:56.123'", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999'"],
    stored: "DateTime64(6, 'UTC')",
    source: "to_char(v, 'YYYY-MM-DD HH24:MI:SS.US')",
  },
  {
    name: "time",
    type: "time",
    values: ["'00:00'", "'23:59:59.999999'", "'24:00:00'", "'12:34:56.1'"],
    stored: "Time64(6)",
    source: "CASE WHEN v = '24:00' THEN '24:00:00.000000' ELSE to_char(v::interval, 'HH24:MI:SS.US') END",
    key: true,
  },
];
