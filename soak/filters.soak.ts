/**
 * A hundred thousand random filters and expressions. Each is refused with a position inside the text, or becomes SQL in
 * which every token is the emitter's own; a sample of what is accepted also runs through the charts room on a real
 * engine, where no answer may be an unexpected error.
 */
import fc from "fast-check";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { type ChartRoom, chartRoom, type RequestInput, startEngine } from "../harness/engine/chart-engine.ts";
import { foreignText } from "../harness/sql/sql-check.ts";
import { resolveField } from "../src/charts/columns/operand.ts";
import { Params } from "../src/charts/columns/params.ts";
import { tableSchema } from "../src/charts/columns/schema.ts";
import { emitExpression } from "../src/charts/expression/emit.ts";
import { allowedFunctions } from "../src/charts/expression/functions.ts";
import { compileFilter } from "../src/charts/filter/compile.ts";
import { parseFilter } from "../src/charts/filter/parser.ts";
import { FilterError } from "../src/charts/filter/syntax.ts";
import { AppError } from "../src/lib/errors.ts";

export const description = "100,000 random filters: never SQL that the parser did not build, never a 500";

const count = numberOf("COUNT", 100_000);
const runCount = numberOf("RUNS", 2_000);
const seed = seedOf();

const columns = [
  { name: "Body", type: "String" },
  { name: "Level", type: "LowCardinality(String)" },
  { name: "n", type: "Nullable(UInt64)" },
  { name: "f", type: "Float32" },
  { name: "dec", type: "Decimal(18, 4)" },
  { name: "ok", type: "Bool" },
  { name: "at", type: "DateTime64(9)" },
  { name: "day", type: "Date" },
  { name: "id", type: "UUID" },
  { name: "ip", type: "IPv6" },
  { name: "e", type: "Enum8('a' = 1, 'it''s' = 2)" },
  { name: "fs", type: "FixedString(4)" },
  { name: "Attrs", type: "Map(LowCardinality(String), String)" },
  { name: "Nums", type: "Map(String, UInt64)" },
  { name: "Tags", type: "Array(String)" },
  { name: "Ints", type: "Array(Nullable(Int32))" },
  { name: "Maps", type: "Array(Map(String, String))" },
  { name: "J", type: "JSON" },
  { name: "T", type: "Tuple(x UInt8, y String)" },
];
const schema = tableSchema("s", "t", columns);
const fields = [
  ...columns.map(({ name }) => name),
  ..."Attrs.k Attrs['k.l'] Nums.a Maps.k Tags[1] J.a.b J.a T.x T.y T.z Body.a.b nothing Lvl `Body` n.x e. .a".split(
    " ",
  ),
];
const values = [
  ..."x 5 -5 1.5 1e400 99999999999999999999 99999999999999999999999999999999999999999999999999999999999999999999999999999999".split(
    " ",
  ),
  ...'true 0 * a* ?b* "q u" "" "it\'s" "\\\\" \\* 2024-01-01 2024-13-01 2024-01-01T10:00:00Z 1714521600000 NaN inf'.split(
    " ",
  ),
  ..."61f0c404-5cb3-11e7-907b-a6006ad3dba0 1.2.3.4 10.0.0.0/8 ::/0 ::/129 %_ é 😀 >5 >=x <2024 [1 {a (b )c ]d".split(
    " ",
  ),
  "[1 TO 5]",
  "{* TO 2024}",
  '["a" TO b}',
  "[x TO 5]",
  "(a OR b)",
  '(-5 OR "c d")',
  "(x AND NOT y)",
  "\u0000",
  "'; DROP TABLE t; --",
];
const glue = [" ", " AND ", " OR ", " && ", " || ", " NOT ", " -", " (", ") ", " !", "", ":", "\t"];

const term = fc.oneof(
  fc.tuple(fc.constantFrom(...fields), fc.constantFrom(...values)).map(([field, value]) => `${field}:${value}`),
  fc.constantFrom(...values),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const filter = fc
  .array(fc.tuple(fc.constantFrom(...glue), term), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.map((part) => part.join("")).join(""));

const functions = allowedFunctions();
const sqlParts = [
  ...fields,
  ...functions.map((name) => `${name}(`),
  ..."( ) [ ] , + - * / % || = != < > >= AND OR NOT IN LIKE BETWEEN".split(" "),
  ..."IS NULL CASE WHEN THEN ELSE END CAST( AS String :: -> x ? : 1 2.5 'a' 'b''c' '' now() INTERVAL 1 DAY SELECT FROM".split(
    " ",
  ),
  "file('/etc/passwd')",
  "(SELECT 1)",
  "--",
  "/*",
  "; DROP TABLE t",
  "{p0:String}",
  "$$",
];
const expression = fc.oneof(
  fc.array(fc.constantFrom(...sqlParts), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(" ")),
  fc
    .tuple(
      fc.constantFrom(...functions),
      fc.array(fc.constantFrom(...fields, "1", "'a'", "x -> x", "NULL"), { maxLength: 3 }),
    )
    .map(([name, args]) => `${name}(${args.join(", ")})`),
  fc.string({ unit: "binary", maxLength: 25 }),
);
const sqlWords = new Set([...functions, "NULL", "x", "toIntervalDay", ..."BETWEEN String".split(" ")]);

type Kind = "filter" | "expression";

/** True when the text was accepted. Throws when a guarantee is broken. */
function check(kind: Kind, text: string): boolean {
  const params = new Params();
  try {
    const sql =
      kind === "expression"
        ? emitExpression(text, schema, params).sql
        : compileFilter(parseFilter(text), {
            schema,
            params,
            zone: "UTC",
            implicit: () => [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)],
          })?.sql;
    const foreign = foreignText(sql ?? "", schema, kind === "expression" ? sqlWords : new Set());
    if (foreign.length > 0) throw new Error(`${JSON.stringify(text)} put ${foreign.join(" ")} into ${sql}`);
    return true;
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    if (error.position < 0 || error.position > text.length)
      throw new Error(`position ${error.position} is outside of ${text}`);
    return false;
  }
}

export async function run(): Promise<Record<string, string | number>> {
  const accepted: { kind: Kind; text: string }[] = [];
  const refused: { kind: Kind; text: string }[] = [];
  const half = Math.ceil(count / 2);
  for (const [kind, texts] of [
    ["filter", fc.sample(filter, { numRuns: half, seed })],
    ["expression", fc.sample(expression, { numRuns: half, seed })],
  ] as const) {
    for (const text of texts) (check(kind, text) ? accepted : refused).push({ kind, text });
  }
  const sample = (list: typeof accepted, n: number) =>
    list.filter((_, i) => i % Math.max(1, Math.floor(list.length / n)) === 0);
  const statuses = await runSome([...sample(accepted, runCount), ...sample(refused, runCount / 10)]);
  return { seed, tried: 2 * half, accepted: accepted.length, refused: refused.length, ...statuses };
}

async function runSome(cases: readonly { kind: Kind; text: string }[]): Promise<Record<string, number>> {
  await using engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE DATABASE s");
  const list = columns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
  await client.command(`CREATE TABLE s.t (${list}) ENGINE = MergeTree ORDER BY at`);
  await client.command(
    "INSERT INTO s.t (Body, Level, n, f, at, day, Attrs, Tags, J) SELECT toString(number), 'info', number, number, '2024-05-01 10:00:00', '2024-05-01', map('k', toString(number)), ['a'], '{\"a\":{\"b\":1}}' FROM numbers(10)",
  );
  const source = {
    name: "t",
    kind: "table" as const,
    from: { databaseName: "s", tableName: "t" },
    timestampValueExpression: "at",
  };
  const room = chartRoom(client, { t: { ...source, implicitColumnExpression: "Body" } });
  const statuses: Record<string, number> = {};
  for (const [i, one] of cases.entries()) {
    const status = await statusOf(room, one, i);
    statuses[`status_${status}`] = (statuses[`status_${status}`] ?? 0) + 1;
  }
  return statuses;
}

async function statusOf(room: ChartRoom, { kind, text }: { kind: Kind; text: string }, i: number): Promise<number> {
  const item: Partial<RequestInput["series"][number]> =
    kind === "filter"
      ? { where: text }
      : ([
          { where: text, whereLanguage: "sql" as const },
          { groupBy: [text === "" ? " " : text] },
          { aggFn: "max" as const, field: text },
        ][i % 3] as object);
  try {
    await room.guardQuery({
      startTime: Date.UTC(2024, 4, 1),
      endTime: Date.UTC(2024, 4, 2),
      series: [{ sourceId: "t", aggFn: "count", ...item }],
    });
    return 200;
  } catch (error) {
    const status = error instanceof AppError ? error.status : 500;
    if (![400, 422].includes(status))
      throw new Error(`${kind} ${JSON.stringify(text)} was answered with ${status}`, { cause: error });
    return status;
  }
}
