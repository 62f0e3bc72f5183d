/** Data of VALUES means the same in one piece and in any pieces, and nothing forbidden passes in part. */
import { describe, expect, test } from "vitest";
import { mayHoldExpressions, ValuesScan } from "./values-data.ts";

/** What passes of data that arrives in these pieces, and whether all of it does. */
function passing(pieces: readonly string[]): { passed: string; all: boolean } {
  const scan = new ValuesScan();
  let [held, passed] = ["", ""];
  for (const [at, piece] of [...pieces, ""].entries()) {
    const text = held + piece;
    const length = scan.judge(text, at === pieces.length);
    if (length === undefined) return { passed, all: false };
    passed += text.slice(0, length);
    held = text.slice(length);
  }
  return { passed, all: held === "" };
}

/** In one piece, in two with the border everywhere, in three, and byte by byte. */
function* piecesOf(data: string): Generator<string[]> {
  yield [data];
  yield [...data];
  for (let at = 0; at <= data.length; at += 1) {
    yield [data.slice(0, at), data.slice(at)];
    yield [data.slice(0, at), data.slice(at, at + 2), data.slice(at + 2)];
  }
}

describe("passes whole, wherever it is cut", () => {
  test.each([
    "(1, 'a''b', -1.5e3, .5), (2, 'a\\'b\\\\', 1e3, '5')",
    "(true, NULL, [1, 0], ['a', 'b'], (1, 2), {'a': 1}), (nan, -inf, array(1))".replace("{'a': 1}", "map('a', 1)"),
    "('2025-07-15 14:30:45'::DateTime64(3), '1.5'::Decimal(9,2), now() - 5, upper('x'))",
    "(x'41', b'0101', 0x1F, 1_000, $$a (SELECT 1) b$$)",
    "('file(1) -- /* select'),\n\t('\xff\xfe''')",
    "(1),(2);",
  ])("%s", (data) => {
    expect(mayHoldExpressions(data)).toBe(true);
    for (const pieces of piecesOf(data)) expect(passing(pieces), pieces.join("|")).toEqual({ passed: data, all: true });
  });
});

describe("passes only up to what is not harmless, wherever it is cut", () => {
  test.each([
    ["(1, ", "file('/etc/hosts'))"],
    ["(1, 'a''', ", "file ('/etc/hosts'))"],
    ["(1, ", "`file`('/etc/hosts'))"],
    ["(1, '\\\\', ", "file\n('x'), '')"],
    ["(1, (", "SELECT 1))"],
    ["(1 ", "/* ' */, file('x') /* ' */)"],
    ["(1 ", "-- '\n, file('x'))"],
    ["(1, ", "joinGet('a', 'b', 1))"],
    ["(1, ", "hidden_of_a_user(1))"],
    ["(1, ", "$a$x$a$, file('x'))"],
    ["(1, arrayMap(", "file, ['x']))"],
    ["(1, ", "{f:Identifier}('x'))"],
  ])("%s%s", (harmless, rest) => {
    expect(mayHoldExpressions(harmless + rest)).toBe(false);
    for (const pieces of piecesOf(harmless + rest)) {
      const { passed, all } = passing(pieces);
      expect(all, pieces.join("|")).toBe(false);
      expect(harmless.startsWith(passed), passed).toBe(true);
    }
  });
});

test("a text in quotes is longer than any piece, a literal without quotes is not", () => {
  const long = "x".repeat(100_000);
  const pieces = Array.from({ length: 30 }, () => long);
  expect(passing(["('", ...pieces, "')"]).all).toBe(true);
  expect(passing(["(x'", ...pieces.map(() => "a".repeat(100_000)), "')"]).all).toBe(false);
});
