/** Array types of Postgres; see `values.ts`. */
import { clampedDays, clampedMicros, type TypeCase, times } from "./scalars.ts";

const json = "toJSONString(v)";
/** `to_json` of Postgres as the engine prints JSON, without spaces. */
const asJson = "replace(to_json(v)::text, ', ', ',')";
const elements =
  "(SELECT '[' || coalesce(string_agg(coalesce(%, 'null'), ',' ORDER BY o), '') || ']' FROM unnest(v) WITH ORDINALITY AS u(e, o))";
const each = (sql: string) => elements.replace("%", () => sql);

/** NULL elements are compared where the destination has Nullable elements; see `nullElement`. */
export const arrayCases: readonly TypeCase[] = [
  {
    name: "int4[]",
    zeroElement: "0",
    type: "int[]",
    values: [
      "'{}'",
      "'{1,-2,NULL}'",
      "'{{1,2},{3,4}}'",
      "'[0:2]={7,8,9}'",
      "'[-1:0][2:3]={{1,2},{3,NULL}}'",
      "array_fill(7, '{3000}')",
    ],
    stored: "Array(Int32)",
    source: each("e::text"),
    engine: json,
  },
  {
    name: "int8[]",
    type: "bigint[]",
    values: ["'{9223372036854775807}'"],
    stored: "Array(Int64)",
    source: each("e::text"),
    engine: "toString(v)",
  },
  {
    name: "float8[]",
    zeroElement: "0",
    type: "float8[]",
    values: ["'{1.5,NaN,Infinity,-Infinity,NULL,1e-320}'"],
    stored: "Array(Float64)",
    source: each(
      "CASE e::text WHEN 'NaN' THEN 'nan' WHEN 'Infinity' THEN 'inf' WHEN '-Infinity' THEN '-inf' ELSE e::text END",
    ),
    engine: "replaceAll(toString(v), 'NULL', 'null')",
  },
  {
    name: "bool[]",
    zeroElement: "false",
    type: "bool[]",
    values: ["'{t,f,NULL}'"],
    stored: "Array(Bool)",
    source: each("e::text"),
    engine: json,
  },
  {
    name: "text[]",
    zeroElement: "",
    type: "text[]",
    values: [
      "ARRAY['a', 'NULL', NULL, 'null', '', ' ', 'a,b', '{x}', 'q\"q', 'b\\b', '\\\"', E'line\\nbreak\\ttab', 'é🐘', '\\\\']",
      "ARRAY[['a,b', '\"'], ['{', NULL]]",
      "'{}'",
      "ARRAY[repeat('ab\\\"', 5000)]",
      '\'[5:6]={"=","]={"}\'',
    ],
    stored: "Array(String)",
    source:
      "(SELECT '[' || coalesce(string_agg(coalesce(encode(convert_to(e, 'UTF8'), 'hex'), 'null'), ',' ORDER BY o), '') || ']' FROM unnest(v) WITH ORDINALITY AS u(e, o))",
    engine: "concat('[', arrayStringConcat(arrayMap(e -> ifNull(lower(hex(e)), 'null'), v), ','), ']')",
  },
  {
    name: "varchar[]",
    type: "varchar(9)[]",
    values: ["'{a b,\"c\"}'"],
    stored: "Array(String)",
    source: asJson,
    engine: json,
  },
  {
    name: "uuid[]",
    zeroElement: '"00000000-0000-0000-0000-000000000000"',
    type: "uuid[]",
    values: ["'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}'"],
    stored: "Array(UUID)",
    source: each(`'"' || e || '"'`),
    engine: json,
  },
  {
    name: "bytea[]",
    zeroElement: "",
    type: "bytea[]",
    values: ["ARRAY['\\x00ff5c22'::bytea, '', NULL]"],
    stored: "Array(String)",
    source: each("encode(e, 'hex')"),
    engine: "concat('[', arrayStringConcat(arrayMap(e -> ifNull(lower(hex(e)), 'null'), v), ','), ']')",
  },
  {
    name: "numeric(p,s)[]",
    zeroElement: "0",
    type: "numeric(10, 2)[]",
    values: ["'{1.50,-0.01,NULL}'"],
    stored: "Array(Decimal(10, 2))",
    source: each("trim_scale(e)::text"),
    engine: "replaceAll(toString(v), 'NULL', 'null')",
  },
  {
    name: "numeric[]",
    type: "numeric[]",
    values: ["'{1.50,NaN,1e30}'"],
    stored: "Array(String)",
    source: each(`'"' || e || '"'`),
    engine: json,
  },
  {
    name: "date[]",
    zeroElement: "-25567",
    type: "date[]",
    values: ["'{2024-02-29,infinity,0044-03-15 BC,12345-01-01,NULL}'"],
    stored: "Array(Date32)",
    source: each(`(CASE WHEN e IS NOT NULL THEN ${clampedDays.replaceAll(/\bv\b/g, "e")} END)::text`),
    engine: "toJSONString(arrayMap(e -> toInt32(e), v))",
  },
  {
    name: "timestamp[]",
    zeroElement: "0",
    type: "timestamp[]",
    values: [`ARRAY[${times.map((value) => `${value}::timestamp`)}, NULL]`],
    stored: "Array(DateTime64(6, 'UTC'))",
    source: each(`CASE WHEN e IS NOT NULL THEN ${clampedMicros.replaceAll(/\bv\b/g, "e")} END`),
    engine: "replaceAll(toString(arrayMap(e -> toUnixTimestamp64Micro(e), v)), 'NULL', 'null')",
  },
  {
    name: "timestamptz[]",
    zeroElement: "0",
    type: "timestamptz[]",
    values: ["'{2024-06-01 12:00+02,infinity,NULL}'"],
    stored: "Array(DateTime64(6, 'UTC'))",
    source: each(`CASE WHEN e IS NOT NULL THEN ${clampedMicros.replaceAll(/\bv\b/g, "e")} END`),
    engine: "replaceAll(toString(arrayMap(e -> toUnixTimestamp64Micro(e), v)), 'NULL', 'null')",
  },
  {
    name: "time[]",
    zeroElement: '"00:00:00.000000"',
    type: "time[]",
    values: ["'{12:34:56.5,24:00,NULL}'"],
    stored: "Array(Time64(6))",
    source: each(
      `'"' || CASE WHEN e = '24:00' THEN '24:00:00.000000' ELSE to_char(e::interval, 'HH24:MI:SS.US') END || '"'`,
    ),
    engine: json,
  },
  {
    name: "jsonb[]",
    zeroElement: '""',
    type: "jsonb[]",
    values: [`ARRAY['{"a": "b\\\\c"}'::jsonb, NULL]`],
    stored: "Array(String)",
    source: each("to_json(e::text)::text"),
    engine: json,
  },
  {
    name: "enum[]",
    zeroElement: '""',
    type: "mood[]",
    values: [`ARRAY['sad', 'very "happy"', 'it''s, {ok}\\', NULL, '']::mood[]`],
    stored: "Array(LowCardinality(String))",
    source: each("to_json(e::text)::text"),
    engine: json,
  },
  {
    name: "box[]",
    zeroElement: '""',
    type: "box[]",
    values: ["ARRAY['(1,1),(0,0)'::box, '(3,3),(2,2)'::box, NULL]"],
    stored: "Array(String)",
    source: each("to_json(e::text)::text"),
    engine: json,
  },
  {
    name: "inet[]",
    type: "inet[]",
    values: ["'{10.0.0.1,::1/64}'"],
    stored: "Array(String)",
    source: each("to_json(format('%s', e))::text"),
    engine: json,
  },
  {
    name: "composite[]",
    zeroElement: '""',
    type: "point3[]",
    values: [`ARRAY[ROW(1, 2.5, 'a"b\\,')::point3, NULL]`],
    stored: "Array(String)",
    // `unnest` would flatten the rows.
    source: `(SELECT '[' || string_agg(CASE WHEN v[o] IS NOT DISTINCT FROM NULL THEN 'null'
      ELSE to_json(format('%s', v[o]))::text END, ',' ORDER BY o) || ']' FROM generate_subscripts(v, 1) AS o)`,
    engine: json,
  },
  {
    name: "range[]",
    type: "int4range[]",
    values: [`ARRAY['[1,3)'::int4range]`],
    stored: "Array(String)",
    source: each("to_json(e::text)::text"),
    engine: json,
  },
  {
    name: "domain[]",
    zeroElement: "0",
    type: "net_price[]",
    values: ["'{1.500,NULL}'"],
    stored: "Array(Decimal(12, 3))",
    source: each("trim_scale(e)::text"),
    engine: "replaceAll(toString(v), 'NULL', 'null')",
  },
  {
    name: "domain over int[]",
    zeroElement: "0",
    type: "marks",
    values: ["'{1,NULL}'", "'{}'"],
    stored: "Array(Int32)",
    source: each("e::text"),
    engine: json,
  },
  { name: "int4[][]", type: "int[][]", values: ["'{{1,2},{3,4}}'", "'[0:1][0:0]={{1},{2}}'"], stored: "String" },
  {
    name: "hstore[]",
    type: "hstore[]",
    values: [`ARRAY['a=>"b,c"'::hstore]`],
    stored: "Array(String)",
    source: each("to_json(e::text)::text"),
    engine: json,
  },
];

/** The one-dimensional array of any other case: all its values and a NULL, for Nullable elements. */
export function arrayOf(each: TypeCase): TypeCase {
  const source = each.source ?? "format('%s', v)";
  const printed = `CASE WHEN v IS DISTINCT FROM NULL THEN encode(convert_to((${source})::text, 'UTF8'), 'hex') END`;
  return {
    name: `array of ${each.name}`,
    type: `${each.type}[]`,
    values: [`ARRAY[${[...each.values, "NULL"].join(", ")}]::${each.type}[]`],
    stored: `Array(${each.stored})`,
    source: `(SELECT string_agg(coalesce(${printed}, 'null'), ',' ORDER BY o)
      FROM (SELECT outside.v[o] AS v, o FROM generate_subscripts(outside.v, 1) AS o) AS elements)`,
    engine: `arrayStringConcat(arrayMap(v -> ifNull(lower(hex(toString(${each.engine ?? "v"}))), 'null'), v), ',')`,
  };
}
