import { expect, test } from "vitest";
import { pieceOf } from "./joinable-data.ts";

const rows = (format: string, text: string) => pieceOf(format, Buffer.from(text))?.rows;

test("rows are counted", () => {
  expect(rows("jsoneachrow", '{"a":"}\\""}\n{"a":[{"b":1}]} ')).toBe(2);
  expect(rows("NDJSON", '{"a":"\\ud83d\\ude00 \\u00e4"}')).toBe(1);
  expect(rows("CSV", '1,"a\n""b"\r\n2,')).toBeUndefined();
  expect(rows("CSV", '1,"a\n""b"\r\n2,c')).toBe(2);
  expect(rows("TSV", "1\ta\\tb\n2\t\\N")).toBe(2);
  expect(rows("Values", " (1, 'a)''\\''), (now(), [-2])\n;")).toBe(2);
});

test("no data, and formats whose rows end where only the engine knows, are inserted alone", () => {
  for (const format of ["JSONEachRow", "CSV", "TSV", "Values"]) expect(rows(format, ""), format).toBeUndefined();
  for (const format of ["Native", "RowBinary", "Parquet", "constructor"])
    expect(rows(format, "{}"), format).toBeUndefined();
});

test.each([
  ["JSONEachRow", '{"a":1', '{"a":"', '[{"a":1}]', '{"a":1},', ',{"a":1}', '{"a":1}}', '{"a":1]', "{'a':1}"],
  // The engine takes the quote behind half a character for the end of the text, with a setting that clients have.
  ["JSONEachRow", '{"a":"\\ud800\\"}"}', '{"a":"\\u12"}', '{"a":"\\q"}'],
  ["TSV", "a\\", "a\\\n", "a\\\r\n", "a\\x", "a\\x4\n"],
  ["CSV", '"', '"a', '"a"b', "'a,b'", 'a,"', '""a'],
  [
    "Values",
    "(1",
    "(1))",
    "('a)",
    "('\\x')",
    "('\\x4')",
    "(1) -- a",
    "(1) /* a",
    '("a")',
    "($a$)",
    "(1);(2)",
    "(1) 2",
    "1",
  ],
])("of %s, what may take a part of the next text is inserted alone", (format, ...texts) => {
  for (const text of texts) expect(rows(format, text), text).toBeUndefined();
});
