import { expect, test } from "vitest";
import { tableLines } from "./table.ts";
import { byteSize, cutTo, harmless, printable, span, widthOf } from "./text.ts";

test("control characters of a server cannot steer the terminal", () => {
  expect(printable("a\u001b]0;x\u0007\nb\u009b")).toBe("a\\x1b]0;x\\x07\\nb\\x9b");
  expect(printable("gpj\u202ecod\u2066\u2028")).toBe("gpj\\u202ecod\\u2066\\u2028");
});

test("text of several lines keeps its lines and tabs, and JSON stays the same JSON", () => {
  const value = { name: "a\u009b2J\u007f\u202e\u001b]0;x\u0007\r", note: "é\n\t" };
  expect(JSON.parse(harmless(JSON.stringify(value, null, 2)))).toEqual(value);
  expect(harmless("a\tb\n\u001b[2J\u009b\r")).toBe("a\tb\n\\u001b[2J\\u009b\\u000d");
});

test("widths count wide and combining characters", () => {
  expect(["abc", "日本", "e\u0301", "😀"].map(widthOf)).toEqual([3, 4, 1, 2]);
  expect(cutTo("日本語", 5)).toBe("日本…");
});

test("durations and sizes in their largest unit", () => {
  expect([0, 89, 90, 7200, 200_000].map(span)).toEqual(["0s", "89s", "2m", "2h", "2d"]);
  expect([0, 1023, 1536, 5 * 1024 ** 3, null].map(byteSize)).toEqual(["0 B", "1023 B", "1.5 KiB", "5.0 GiB", "-"]);
});

test("a table is cut only to a given width", () => {
  const columns = [
    { title: "A", value: ({ a }: { a: string }) => a },
    { title: "B", value: () => "b".repeat(30) },
  ];
  const look = { color: false, wide: false };
  expect(tableLines([{ a: "日本" }], columns, { ...look, width: undefined })).toEqual([
    "A     B",
    `日本  ${"b".repeat(30)}`,
  ]);
  expect(tableLines([{ a: "x" }], columns, { ...look, width: 20 })[1]).toBe(`x  ${"b".repeat(16)}…`);
});
