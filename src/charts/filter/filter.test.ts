/** The filter language without an engine: what is refused and where, and that only the parser's own SQL comes out. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foreignText } from "../../../harness/sql/sql-check.ts";
import { resolveField } from "../columns/operand.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { compileFilter } from "./compile.ts";
import { maxFilterLength, parseFilter } from "./parser.ts";
import { FilterError, type FilterNode, type PatternPart } from "./syntax.ts";

const schema = tableSchema("d", "t", [
  { name: "Body", type: "String" },
  { name: "Level", type: "LowCardinality(String)" },
  { name: "n", type: "Nullable(UInt64)" },
  { name: "ok", type: "Bool" },
  { name: "at", type: "DateTime64(9)" },
  { name: "id", type: "UUID" },
  { name: "ip", type: "IPv4" },
  { name: "Attrs", type: "Map(LowCardinality(String), String)" },
  { name: "Tags", type: "Array(String)" },
  { name: "J", type: "JSON" },
  { name: "Events.Name", type: "Array(String)" },
  { name: "state", type: "AggregateFunction(sum, UInt64)" },
  { name: "we`ird", type: "String" },
]);

function compile(filter: string): { sql: string; values: Readonly<Record<string, string>> } {
  const params = new Params();
  const implicit = [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)];
  const condition = compileFilter(parseFilter(filter), { schema, params, zone: "UTC", implicit: () => implicit });
  return { sql: condition?.sql ?? "", values: params.values() };
}

function refusal(filter: string): [string, number] {
  try {
    compile(filter);
  } catch (error) {
    if (error instanceof FilterError) return [error.message, error.position];
    throw error;
  }
  return expect.fail(`${filter} should be refused`);
}

describe("what is refused", () => {
  test.each([
    ["(a OR b", "this '(' is not closed", 0],
    ["a)", 'unexpected ")"', 1],
    ["a AND", "expected a word, a field or '(', but the filter ends", 5],
    ["OR a", "OR needs a condition here; quote it to search for the word", 0],
    ["a AND AND b", "AND needs a condition here; quote it to search for the word", 6],
    ['Level:"x', "the quote opened here is not closed", 6],
    ["Level:", "expected a value for Level, but the filter ends", 6],
    ["n:[1 10]", "expected TO between the two bounds of the range", 5],
    ["n:[1 TO 10", "expected ']' or '}' at the end of the range, but the filter ends", 10],
    ["Levl:x", 'unknown column "Levl"; did you mean Level?', 0],
    ["x AND Lev:y", 'unknown column "Lev"; did you mean Level?', 6],
    ["n:abc", 'n is a number (Nullable(UInt64)), "abc" is not', 2],
    ["ok:maybe", "ok is a boolean: write true or false", 3],
    ["at:yesterday", "at is a time: write it as 2024-05-01 or 2024-05-01T10:00:00Z", 3],
    ["at:>2024-02-30", "at is a time: write it as 2024-05-01 or 2024-05-01T10:00:00Z", 4],
    ["ip:>1.2.3.4", "ip is an address: it can be equal or not, but not greater or less", 3],
    ["Attrs:x", "Attrs holds many values; name one, as in Attrs.key", 6],
    ["Level.x.y[1:z", "expected a quoted key or a position after '['", 10],
    ["n.x:5", "n.x: a value of type Nullable(UInt64) has no members", 0],
    ["state:5", "state has type AggregateFunction(sum, UInt64), which a filter cannot test", 6],
    ["word~2", "fuzzy search is not supported; write \\~2 to search for the characters", 4],
    ["a\\", "a backslash must be followed by a character", 1],
    ["()", "the group is empty", 0],
  ])("%s", (filter, message, position) => {
    expect(refusal(filter)).toEqual([message, position]);
  });

  test("depth, size and number of conditions are bounded, and deep input is not a stack overflow", () => {
    expect(refusal("(".repeat(20_000))[0]).toContain("nested deeper");
    expect(refusal("-".repeat(20_000) + "a")[0]).toContain("nested deeper");
    expect(refusal("NOT ".repeat(5_000) + "a")[0]).toContain("nested deeper");
    expect(refusal("a ".repeat(501))[0]).toContain("more than 500 conditions");
    expect(refusal("a".repeat(maxFilterLength + 1))[0]).toContain("longer than");
  });
});

/** The tree without offsets, as text. */
function show(node: FilterNode): string {
  switch (node.kind) {
    case "all":
      return "*";
    case "not":
      return `!${show(node.item)}`;
    case "match": {
      const { test: value, field } = node;
      const shown = value.kind === "word" ? value.parts.map(showPiece).join("") : value.kind;
      return field === undefined ? shown : `${field.text}=${shown}`;
    }
    default:
      return `(${node.items.map(show).join(node.kind === "and" ? " & " : " | ")})`;
  }
}

function showPiece(part: PatternPart): string {
  return part.kind === "text" ? part.text : part.kind === "any" ? "*" : "?";
}

describe("structure", () => {
  test.each([
    ["a b OR c d", "((a & b) | (c & d))"],
    ["a OR b AND NOT c", "(a | (b & !c))"],
    ["NOT a b", "(!a & b)"],
    ["-(a OR b) c", "(!(a | b) & c)"],
    ["!a && +b || c", "((!a & b) | c)"],
    ["Level:(a OR -b)", "(Level=a | !Level=b)"],
    ["n:(-5 OR 3)", "(n=-5 | n=3)"],
    ["a:b:c", "a=b:c"],
    ["at:2024-01-01T10:00:00Z x", "(at=2024-01-01T10:00:00Z & x)"],
    ["http://x:80/y?z=1 localhost:8080 10.0.0.1:9000", "(http://x:80/y?z=1 & localhost:8080 & 10.0.0.1:9000)"],
    ["order AND\\ b", "(order & AND b)"],
    ["ANDROID NOTICE ORDER", "(ANDROID & NOTICE & ORDER)"],
    ["a\\:b", "a:b"],
    ["*:* AND a", "(* & a)"],
    ["", "*"],
    ["  ", "*"],
  ])("%s", (filter, tree) => {
    expect(show(parseFilter(filter))).toBe(tree);
  });
});

describe("only what the parser builds", () => {
  const fragments = [
    ..."()[]{}\"'`:\\*?-!+><=~^/|&;,.#$@%\n\t ",
    "AND",
    "OR",
    "NOT",
    "TO",
    "Body",
    "Level:",
    "n:",
    "Attrs.",
    "J.a",
    "Tags:",
    "at:",
    "Events.Name:",
    "2024-01-01",
    "'; DROP TABLE t; --",
    "/*",
    "*/",
    "{p0:String}",
    "SELECT",
    "5",
    "-1",
    "true",
    "é",
    "😀",
    "\u0000",
    "`we`ird`:",
  ];
  const noise = fc.oneof(
    fc.array(fc.constantFrom(...fragments), { maxLength: 14 }).map((parts) => parts.join("")),
    fc.array(fc.constantFrom(...fragments), { maxLength: 10 }).map((parts) => parts.join(" ")),
    fc.string({ unit: "binary", maxLength: 30 }),
  );

  test("any text is refused with a position inside it, or becomes SQL without a character of it", () => {
    fc.assert(
      fc.property(noise, (filter) => {
        try {
          expect(foreignText(compile(filter).sql, schema)).toEqual([]);
        } catch (error) {
          if (!(error instanceof FilterError)) throw error;
          expect(error.position).toBeGreaterThanOrEqual(0);
          expect(error.position).toBeLessThanOrEqual(filter.length);
        }
      }),
      { numRuns: 3000 },
    );
  });

  test("any text is found by its quoted form, and travels as a value", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        const { sql, values } = compile(`Level:"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
        expect(sql).toBe("(`Level` = {p0:String})");
        const decoded = (values.p0 as string).replace(
          /\\(.)/g,
          (_, c: string) => ({ t: "\t", n: "\n", r: "\r", "0": "\0" })[c] ?? c,
        );
        expect(decoded).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
