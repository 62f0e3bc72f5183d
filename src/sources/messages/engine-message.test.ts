import { describe, expect, test } from "vitest";
import { rowOf, shortMessage } from "./engine-message.ts";

const version = "(version 26.7.1.1 (official build))";

describe("sentences of the engine, made short", () => {
  test.each([
    [
      `Code: 27. DB::Exception: Cannot parse input: expected '"' before: 'six,"name"': (while reading the value of key id): (at row 3)\n: While executing ParallelParsingBlockInputFormat. (CANNOT_PARSE_INPUT_ASSERTION_FAILED) ${version}`,
      "Cannot parse input: expected '\"': (while reading the value of key id)",
    ],
    [
      `Code: 27. DB::Exception: Cannot parse: (Already have 1 errors out of 2 rows, which is 0.5 of all rows): (at row 2)\n: (in file/uri b/in/a (1).json): While executing S3Source. (CANNOT_PARSE) ${version}`,
      "Cannot parse",
    ],
    [
      `Code: 70. DB::Exception: Cannot convert: While processing CAST(x, 'Date'). (CANNOT_CONVERT_TYPE) ${version}`,
      "Cannot convert",
    ],
    [
      `Code: 36. DB::Exception: No such column: (in file/uri b/in/a.parquet): While executing S3Source. (BAD) ${version}`,
      "No such column",
    ],
  ])("%s", (message, short) => expect(shortMessage(message)).toBe(short));

  test("what a row says cuts nothing off", () => {
    const said = "x (version 1) (at row 9) : While executing nothing (in file/uri y) z";
    const message = `Code: 6. DB::Exception: Cannot parse string '${said}' as UInt8: syntax error: (at row 2)\n: While executing JSONEachRowRowInputFormat. (CANNOT_PARSE_TEXT) ${version}`;
    expect(shortMessage(message)).toBe(`Cannot parse string '${said}' as UInt8: syntax error`);
    expect(rowOf(message)).toBe(2);
  });
});
