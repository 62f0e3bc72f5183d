/** `docs/postgres-types.md`: the engine type of each Postgres type. The engine types come from the code. */
import type { SourceColumn, SourceType } from "../src/sources/relational-db/durable.ts";
import { columnPlan } from "../src/sources/relational-db/tables/types.ts";

type Row = {
  /** Markdown. */
  readonly types: string;
  readonly sample: Partial<SourceType>;
  readonly note: string;
};

const exact = "exact";
const asText = "the text that Postgres prints";

const rows: readonly Row[] = [
  { types: "`smallint`", sample: { name: "int2" }, note: exact },
  { types: "`integer`", sample: { name: "int4" }, note: exact },
  { types: "`bigint`", sample: { name: "int8" }, note: exact },
  { types: "`oid`, `xid`, `cid`", sample: { name: "oid" }, note: exact },
  { types: "`xid8`", sample: { name: "xid8" }, note: exact },
  { types: "`real`", sample: { name: "float4" }, note: "exact, NaN and both infinities too" },
  { types: "`double precision`", sample: { name: "float8" }, note: "exact, NaN and both infinities too" },
  { types: "`boolean`", sample: { name: "bool" }, note: exact },
  {
    types: "`numeric(p, s)`",
    sample: { name: "numeric", typmod: numericTypmod(12, 4) },
    note: "exact, here for p = 12, s = 4. A negative scale becomes more digits, a scale above the precision that many. **NaN is stored like NULL**",
  },
  {
    types: "`numeric`, `numeric(p, s)` of more than 76 digits",
    sample: { name: "numeric" },
    note: "exact, NaN and infinities too: no Decimal could hold every value. `toDecimal256OrNull(x, 38)` where numbers are needed",
  },
  { types: "`money`", sample: { name: "money" }, note: `${asText}, in the database's \`lc_monetary\`` },
  {
    types: '`text`, `varchar`, `char(n)`, `name`, `"char"`, `citext`',
    sample: { name: "text" },
    note: "exact; `char(n)` with its padding",
  },
  { types: "`bytea`", sample: { name: "bytea" }, note: "the bytes themselves" },
  {
    types: "`date`",
    sample: { name: "date" },
    note: "1900-01-01 to 2299-12-31 exact; **earlier, BC and `-infinity` are 1900-01-01, later and `infinity` are 2299-12-31**. In a key see below",
  },
  {
    types: "`timestamp`",
    sample: { name: "timestamp" },
    note: "0001-01-01 to 9999-12-31 exact to the microsecond; **BC and `-infinity` are 0001-01-01 00:00:00, later and `infinity` are 9999-12-31 23:59:59.999999**. In a key see below",
  },
  {
    types: "`timestamp with time zone`",
    sample: { name: "timestamptz" },
    note: "the instant, as for `timestamp`; shown in UTC",
  },
  { types: "`time`", sample: { name: "time" }, note: "exact, 24:00:00 too" },
  { types: "`time with time zone`", sample: { name: "timetz" }, note: `${asText}, with its offset` },
  {
    types: "`interval`",
    sample: { name: "interval" },
    note: `${asText} in the style \`postgres\`: \`1 year 3 days 04:05:06\``,
  },
  { types: "`uuid`", sample: { name: "uuid" }, note: exact },
  {
    types: "`json`, `jsonb`",
    sample: { name: "json" },
    note: "exact: numbers keep all digits, `json` its spaces, order and repeated names. The functions `JSONExtract...` read it",
  },
  { types: "`xml`, `jsonpath`", sample: { name: "xml" }, note: asText },
  { types: "`inet`, `cidr`, `macaddr`, `macaddr8`", sample: { name: "inet" }, note: asText },
  { types: "`bit(n)`, `bit varying`", sample: { name: "bit" }, note: "zeros and ones" },
  { types: "`tsvector`, `tsquery`", sample: { name: "tsvector" }, note: asText },
  { types: "`point`, `line`, `lseg`, `box`, `path`, `polygon`, `circle`", sample: { name: "point" }, note: asText },
  {
    types: "`int4range` and other ranges, multiranges",
    sample: { name: "int4range", kind: "range" },
    note: `${asText}; times within them in UTC`,
  },
  { types: "`pg_lsn`, `pg_snapshot`, `tid`", sample: { name: "pg_lsn" }, note: asText },
  { types: "`regclass` and other `reg...` types", sample: { name: "regclass" }, note: "the name, with its schema" },
  { types: "enum", sample: { name: "public.mood", kind: "enum" }, note: "the label" },
  { types: "composite", sample: { name: "public.pair", kind: "composite" }, note: `${asText}: \`(1,"a b")\`` },
  {
    types: "`hstore`, `ltree`, `cube`, `geometry` and every other type of an extension",
    sample: { name: "public.hstore" },
    note: asText,
  },
  {
    types: "domain",
    sample: { name: "public.count", kind: "domain", base: type({ name: "int4" }) },
    note: "as the type beneath it, here `integer`",
  },
  {
    types: "`integer[]` and other arrays",
    sample: { name: "_int4", kind: "array", element: type({ name: "int4" }) },
    note: "each element as above. A value of several dimensions is flattened, as `unnest` does; lower bounds are left out; **a NULL array is the empty one**",
  },
];

/** Declared with several dimensions. */
const deepArray = column("v", { name: "_int4", kind: "array", element: type({ name: "int4" }) }, 2);

export function postgresTypes(): string {
  const lines = rows.map(({ types, sample, note }) => {
    const plan = columnPlan(column("v", sample, 0), { nullable: false, key: false });
    const how = plan.expression === undefined ? "" : plan.printed === undefined ? "yes" : "in the stream";
    return `| ${types} | \`${plan.type}\` | ${how} | ${note} |`;
  });
  const deep = columnPlan(deepArray, { nullable: false, key: false }).type;
  const day = columnPlan(column("v", { name: "date" }, 0), { nullable: false, key: true }).type;
  return `# Types of Postgres pipes

The engine converts, from the text that Postgres prints. What is converted in the stream only is printed by Postgres for a
copy as the engine reads it; a table without any "yes" below is copied straight, with less work for the engine. A test
compares every type below with the source, value by value (Postgres 15, 16 and 18), and copies with the stream.

| type in Postgres | type of the column | converted by SQL | what is stored |
| --- | --- | --- | --- |
${lines.join("\n")}
| \`integer[][]\`: declared with more than one dimension | \`${deep}\` | | the text that Postgres prints, bounds included |

## NULL

With \`allowNullableColumns\` a column that may be NULL becomes \`Nullable\`, and so do the elements of every array. Without
it NULL is stored as the zero value: 0, \`''\`, \`false\`, 1970-01-01 00:00:00, for \`Date32\` 1900-01-01. Columns of the key
and arrays themselves are never \`Nullable\`.

## Keys

No two different keys may become one row. So in the key

- a \`date\` is a \`${day}\` that holds every day exactly, infinity as the largest number of days. The engine prints days
  outside of the years 0000 to 9999 as the end of that range, and clamps a date that is written in a query to 1900 to
  2299: compare others with \`toDate32(toDateTime64('9999-12-31', 0))\`;
- a \`timestamp\` holds its microseconds exactly up to the year 294246, later ones and infinity as the largest number;
- an array is its text.

One exception: in a \`numeric(p, s)\` key NaN and 0 are one.

## What does not arrive

Generated columns, because Postgres does not publish them. Bytes that are not UTF-8, which only a database with the
encoding \`SQL_ASCII\` can have, arrive as they are; within quoted array elements they may split the element.
`;
}

function type(sample: Partial<SourceType>): SourceType {
  return { oid: 0, name: "text", kind: "base", typmod: -1, delimiter: ",", ...sample };
}

function column(name: string, sample: Partial<SourceType>, dimensions: number): SourceColumn {
  const of = type(sample);
  const { oid: typeOid, name: typeName, typmod } = of;
  return { name, attnum: 1, typeOid, typeName, typmod, type: of, dimensions, notNull: false, generated: false };
}

function numericTypmod(precision: number, scale: number): number {
  return ((precision << 16) | (scale & 0x7ff)) + 4;
}
