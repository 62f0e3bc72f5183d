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

test("CSV quotes what needs it", () => {
  expect(copyText("CSV", columns, rows)).toBe('id,text,id\n18446744073709551615,"a ""b"",\tc\nd",[1]\n1,,[]');
});

test.each(["TSV", "CSV"] as const)(
  "text that begins like a formula is none in %s, and numbers stay numbers",
  (format) => {
    const texts = [["=1+1"], ["+1-2"], ["@SUM(A1)"], ["-2+3"], ["\t=1"], ["-5"], ["+1.5e3"], [-1], [[-1]]];
    const copied = copyText(format, [{ name: "=x", type: "String" }], texts);
    const tabbed = format === "TSV" ? "' =1" : "'\t=1";
    expect(copied).toBe(
      ["'=x", "'=1+1", "'+1-2", "'@SUM(A1)", "'-2+3", tabbed, "-5", "+1.5e3", "-1", "[-1]"].join("\n"),
    );
  },
);

test("JSON keeps all digits and both columns of one name", () => {
  expect(copyText("JSON", columns, rows)).toBe(
    '[{"id":18446744073709551615,"text":"a \\"b\\",\\tc\\nd","id_2":[1]},\n {"id":1,"text":null,"id_2":[]}]',
  );
});

test("SQL literals are quoted", () => {
  expect(copyText("SQL", columns, [[1, "it's \\", null]])).toBe("VALUES\n  (1, 'it\\'s \\\\', NULL)");
});
