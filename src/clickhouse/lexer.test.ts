import { describe, expect, test } from "vitest";
import { tokenize } from "./lexer.ts";
import { identifier, literal } from "./sql.ts";

const texts = (sql: string) => tokenize(sql).map((token) => token.text);

describe("lexer", () => {
  test("comments and strings never produce words", () => {
    expect(texts("select /* INTO OUTFILE */ 1 -- infile\n, 'from infile'")).toEqual([
      "select",
      "1",
      ",",
      "'from infile'",
    ]);
  });
  test("a quote is ended neither by an escape nor by doubling", () => {
    expect(tokenize("'a\\'b''c' x").map((t) => t.value)).toEqual(["a'b'c", "x"]);
  });
  test("literal and identifier round-trip any content through the lexer", () => {
    for (const text of ["it's", "\\", "\\'", "a\nb", "``", "\0", "'; DROP TABLE t; --"]) {
      expect(tokenize(literal(text))).toMatchObject([{ kind: "string", value: text }]);
      if (!/[\n\0]/.test(text))
        expect(tokenize(identifier(text))).toMatchObject([{ kind: "quotedIdentifier", value: text }]);
    }
  });
  test("parameters, operators and numbers", () => {
    expect(texts("{a:Array(String)}::x->y<=1.5e3 0xff .5")).toEqual([
      "{a:Array(String)}",
      "::",
      "x",
      "->",
      "y",
      "<=",
      "1.5e3",
      "0xff",
      ".5",
    ]);
  });
});

describe("the guard sees the words that the engine sees", () => {
  // Each text was run on the engine: it finds INTO OUTFILE (or a second statement) after the comment or quote.
  test.each([
    ["a nested comment", "select 1 /* /* */ ' */ into outfile 'x' --'"],
    ["a comment with slashes", "select 1 // '\n into outfile 'x' --'"],
    ["curly quotes", "select ‘ ' ’ into outfile 'x' --'"],
    ["curly identifier quotes", "select “ ' ” into outfile 'x' --'"],
    ["a wide space", "select 1 into\u2003outfile 'x'"],
    ["a hexadecimal string", "select x'41' into outfile 'x'"],
    ["a heredoc", "select $a$ ' $a$ into outfile 'x' --'"],
  ])("behind %s", (_, sql) => {
    const words = tokenize(sql).filter((token) => token.kind === "word");
    expect(words.map((token) => token.text)).toContain("outfile");
  });
  test("more than 100 beginnings of heredocs end the text, so that the time stays linear", () => {
    const opened = (count: number) => Array.from({ length: count }, (_, i) => `$a${i}$`).join(" ");
    expect(tokenize(opened(100)).every(({ kind }) => kind === "word")).toBe(true);
    const tokens = tokenize(opened(1_000));
    expect(tokens.length).toBe(101);
    expect(tokens.at(-1)).toMatchObject({ kind: "unterminated" });
    expect(tokenize("$a$ 1 $a$ ".repeat(101)).at(-1)?.kind).toBe("unterminated");
  });
  test("an unclosed nested comment hides the rest, as for the engine", () => {
    expect(tokenize("select /* /* */ 1").at(-1)?.kind).toBe("unterminated");
  });
});
