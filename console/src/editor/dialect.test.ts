import { expect, test } from "vitest";
import { dialectOf } from "./dialect.ts";
import { noWords } from "./words.ts";

const words = {
  ...noWords,
  keywords: ["SELECT", "ORDER BY", "NO DELAY", "M"],
  dataTypes: ["UInt8"],
  functions: [{ name: "toDate", aggregate: false, description: "", syntax: "" }],
};

/** `token:text` of everything that has a colour. */
function tokens(sql: string): string[] {
  const found: string[] = [];
  dialectOf(words as never)
    .parser.parse(sql)
    .iterate({
      enter: ({ name, from, to }) => {
        if (name !== "Document") found.push(`${name}:${sql.slice(from, to)}`);
      },
    });
  return found;
}

test("words of the engine are told apart in any case, numbers and operators too", () => {
  expect(tokens("select toDate(m)::UInt8 + 1e-3 order")).toEqual([
    "keyword:select",
    "variableName.standard:toDate",
    "operator:::",
    "typeName:UInt8",
    "operator:+",
    "number:1e-3",
    "keyword:order",
  ]);
});

test("a word that is a keyword only behind another one is a name elsewhere", () => {
  expect(tokens("select delay, no\ndelay order by by")).toEqual([
    "keyword:select",
    "keyword:no",
    "keyword:delay",
    "keyword:order",
    "keyword:by",
  ]);
});

test("quotes and comments go on over lines, and hide what looks like code", () => {
  expect(tokens("'it''s \\' select\n1' /* select\n*/ 1 -- select\n`select`")).toEqual([
    "string:'it''s \\' select",
    "string:1'",
    "comment:/* select",
    "comment:*/",
    "number:1",
    "comment:-- select",
    "string.special:`select`",
  ]);
});
