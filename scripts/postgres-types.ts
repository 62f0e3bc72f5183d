/** `docs/postgres-types.md`: the engine type of each Postgres type. The engine types come from the code. */
import type { SourceColumn, SourceType } from "../src/sources/relational-db/declaration/durable.ts";
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
  { types: "`real`", sample: { name: "float4" }, note: "exact, including NaN and both infinities" },
  { types: "`double precision`", sample: { name: "float8" }, note: "exact, including NaN and both infinities" },
  { types: "`boolean`", sample: { name: "bool" }, note: exact },
  {
    types: "`numeric(p, s)`",
    sample: { name: "numeric", typmod: numericTypmod(12, 4) },
    note: "exact; shown for p = 12, s = 4. A negative scale adds digits, and a scale above the precision sets the number of digits. **NaN is stored like NULL**",
  },
  {
    types: "`numeric`, `numeric(p, s)` of more than 76 digits",
    sample: { name: "numeric" },
    note: "exact, including NaN and infinities, because no Decimal holds every value. Use `toDecimal256OrNull(x, 38)` to get numbers",
  },
  { types: "`money`", sample: { name: "money" }, note: `${asText}, in the database's \`lc_monetary\`` },
  {
    types: '`text`, `varchar`, `char(n)`, `name`, `"char"`, `citext`',
    sample: { name: "text" },
    note: "exact; `char(n)` including its padding",
  },
  { types: "`bytea`", sample: { name: "bytea" }, note: "the bytes themselves" },
  {
    types: "`date`",
    sample: { name: "date" },
    note: "1900-01-01 to 2299-12-31 exact; **earlier, BC and `-infinity` are 1900-01-01, later dates and `infinity` are 2299-12-31**. Key columns: see [Keys](#keys)",
  },
  {
    types: "`timestamp`",
    sample: { name: "timestamp" },
    note: "0001-01-01 to 9999-12-31 exact to the microsecond; **BC and `-infinity` are 0001-01-01 00:00:00, later times and `infinity` are 9999-12-31 23:59:59.999999**. Key columns: see [Keys](#keys)",
  },
  {
    types: "`timestamp with time zone`",
    sample: { name: "timestamptz" },
    note: "the instant, as for `timestamp`; shown in UTC",
  },
  { types: "`time`", sample: { name: "time" }, note: "exact, including 24:00:00" },
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
    note: "exact: numbers keep all digits, and `json` keeps its spaces, order and repeated names. Use the functions `JSONExtract...` to read it",
  },
  { types: "`xml`, `jsonpath`", sample: { name: "xml" }, note: asText },
  { types: "`inet`, `cidr`, `macaddr`, `macaddr8`", sample: { name: "inet" }, note: asText },
  { types: "`bit(n)`, `bit varying`", sample: { name: "bit" }, note: "zeros and ones" },
  { types: "`tsvector`, `tsquery`", sample: { name: "tsvector" }, note: asText },
  { types: "`point`, `line`, `lseg`, `box`, `path`, `polygon`, `circle`", sample: { name: "point" }, note: asText },
  {
    types: "`int4range` and other ranges, multiranges",
    sample: { name: "int4range", kind: "range" },
    note: `${asText}; times in them are in UTC`,
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
    note: "as the underlying type, here `integer`",
  },
  {
    types: "`integer[]` and other arrays",
    sample: { name: "_int4", kind: "array", element: type({ name: "int4" }) },
    note: "each element as above. A value with several dimensions is flattened, like `unnest` does; lower bounds are dropped; **a NULL array becomes an empty array**",
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

The engine converts values from the text that Postgres prints. Types marked "in the stream" need a conversion only for
changes: during the initial copy, Postgres prints them in the form that the engine reads. A table without a "yes" below is
copied without conversion, which costs the engine less. A test compares every type below with the source, value by value
(Postgres 15, 16 and 18), and the initial copy with the stream.

| type in Postgres | type of the column | converted by SQL | what is stored |
| --- | --- | --- | --- |
${lines.join("\n")}
| \`integer[][]\`: declared with several dimensions | \`${deep}\` | | the text that Postgres prints, including bounds |

## NULL

With \`allowNullableColumns\`, a column that allows NULL becomes \`Nullable\`, and so do the elements of every array. Without
it, NULL is stored as the zero value of the type: 0, \`''\`, \`false\`, 1970-01-01 00:00:00, or 1900-01-01 for \`Date32\`. Key
columns and arrays themselves are never \`Nullable\`.

## Keys

Two different keys must never become the same row. Key columns are therefore stored as follows:

- A \`date\` is a \`${day}\` that stores every day exactly, and infinity as the largest number of days. The engine prints
  days outside the years 0000 to 9999 as the end of that range. It clamps a date literal in a query to the years 1900 to
  2299; compare other dates with \`toDate32(toDateTime64('9999-12-31', 0))\`.
- A \`timestamp\` stores microseconds exactly up to the year 294246, and later times and infinity as the largest number.
- An array is stored as its text.

One exception: in a \`numeric(p, s)\` key, NaN and 0 are the same value.

## Limitations

Generated columns are not replicated, because Postgres does not publish them. Bytes that are not UTF-8, which only a
database with the encoding \`SQL_ASCII\` can contain, are copied unchanged; inside a quoted array element they may split it.
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
