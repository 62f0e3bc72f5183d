/** Filters that most likely mean something else: refused with their place, or told of. */
import { describe, expect, test } from "vitest";
import { resolveField } from "../columns/operand.ts";
import { Params } from "../columns/params.ts";
import { tableSchema } from "../columns/schema.ts";
import { compileFilter } from "./compile.ts";
import { parseFilter } from "./parser.ts";
import { FilterError } from "./syntax.ts";

const schema = tableSchema("d", "t", [
  { name: "level", type: "String" },
  { name: "n", type: "UInt32" },
  { name: "Body", type: "String" },
]);

/** The warnings of a filter, or the position at which it is refused. */
function judge(filter: string): string[] | number {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const params = new Params();
  const implicit = [resolveField([{ kind: "dotted", text: "Body" }], { text: "Body", at: 0 }, schema, params)];
  try {
    compileFilter(parseFilter(filter, warn), { schema, params, zone: "UTC", implicit: () => implicit, warn });
  } catch (error) {
    if (error instanceof FilterError) return error.position;
    throw error;
  }
  return warnings;
}

describe("refused, with the place", () => {
  test.each([
    ["n >= 500", 2],
    ["level = 'error'", 6],
    ["level='error'", 0],
    ["n>5", 0],
    ["n!=5 error", 0],
    ["n IN (1, 2)", 0],
    ["level like x", 0],
    ["level:error and n:5", 12],
    ["n:5 or timeout", 4],
    ["timeout or (n:5 AND error)", 8],
    ["level:(error or warn)", 13],
    ["/time.*out/", 0],
    ["level:/^err/", 6],
    ["/a|b/i", 0],
  ])("%s", (filter, position) => {
    expect(judge(filter)).toBe(position);
  });
});

describe("told of", () => {
  test.each([
    ["open and read", "and is searched for as a word; write AND"],
    ["a Or b", "Or is searched for as a word; write OR"],
    ["/timeout/", "the slashes are searched for"],
    ["level=error", "to test the column, write level:error"],
  ])("%s", (filter, warning) => {
    expect(judge(filter)).toEqual([expect.stringContaining(warning)]);
  });
});

test.each([
  ...["and", "error and", "or else", 'open "and" read', "open \\and read", "level:error AND n:5", '"n >= 5"', "\\= x"],
  ...["user_id=42", "/api/v1/items", "a->b", "x=y", "/", "http://a/b/", "in stock", "level", "\\/api\\/"],
])("nothing is said of %s", (filter) => {
  expect(judge(filter)).toEqual([]);
});
