import { expect, test } from "vitest";
import { copyText } from "./copy.ts";

const columns = [
  { name: "id", type: "UInt64" },
  { name: "text", type: "Nullable(String)" },
  { name: "id", type: "Array(UInt8)" },
];
const rows = [
  ["18446744073709551615", 'a "b",\tc\nd', [1]],
  [1, null, []],
];

test("TSV keeps one row in one line", () => {
  expect(copyText("TSV", columns, rows)).toBe('id\ttext\tid\n18446744073709551615\ta "b", c d\t[1]\n1\t\t[]');
});

test("CSV quotes what needs it, and text that begins like a formula is not a formula", () => {
  expect(copyText("CSV", columns, rows)).toBe('id,text,id\n18446744073709551615,"a ""b"",\tc\nd",[1]\n1,,[]');
  expect(copyText("CSV", [{ name: "x", type: "String" }], [["=1+1"], ["-5"]])).toBe("x\n'=1+1\n-5");
});

test("JSON keeps all digits and both columns of one name", () => {
  expect(copyText("JSON", columns, rows)).toBe(
    '[{"id":18446744073709551615,"text":"a \\"b\\",\\tc\\nd","id_2":[1]},\n {"id":1,"text":null,"id_2":[]}]',
  );
});

test("SQL literals are quoted", () => {
  expect(copyText("SQL", columns, [[1, "it's \\", null]])).toBe("VALUES\n  (1, 'it\\'s \\\\', NULL)");
});
