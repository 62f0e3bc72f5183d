import { expect, test } from "vitest";
import { readCanonical, UnreadableText } from "./tokens.ts";

test.each(["x'41'", "X'41'", "b'01'", "B'01'", "X') FORMAT 1 HOST 'TABLE'"])(
  "%s begins a hexadecimal or binary string to the engine, and is not read",
  (text) => expect(() => readCanonical(`SELECT ${text}`)).toThrow(UnreadableText),
);

test("words that end in these letters are words", () => {
  const tokens = readCanonical("SELECT max, x, b, 'x' FROM t");
  expect(tokens.map(({ kind, value }) => `${kind} ${value}`)).toEqual([
    ...["word SELECT", "word max", "mark ,", "word x", "mark ,", "word b", "mark ,", "string x", "word FROM", "word t"],
  ]);
});
