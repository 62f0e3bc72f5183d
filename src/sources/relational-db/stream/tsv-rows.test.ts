import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tupleOf, unchanged } from "../protocol/tuple.ts";
import { columnIndexes, TsvRowWriter } from "./tsv-rows.ts";

const all = (size: number) => Array.from({ length: size }, (_, index) => index);

describe("TsvRowWriter", () => {
  test("writes what COPY writes: escapes, NULL, empty", () => {
    const writer = new TsvRowWriter(all(4), 4);
    writer.append(tupleOf(["\b\t\n\v\f\r\\", null, "", "\\N"]), "");
    writer.append(tupleOf(["\x01\x1b\x7f", "Grüße 🐘", "\\.", "a b"]), "\t7\t0");
    expect(writer.rows).toBe(2);
    const taken = writer.take();
    expect(taken.toString()).toBe("\\b\\t\\n\\v\\f\\r\\\\\t\\N\t\t\\\\N\n\x01\x1b\x7f\tGrüße 🐘\t\\\\.\ta b\t7\t0\n");
    expect([writer.rows, writer.bytes]).toEqual([0, 0]);
  });

  test("leaves columns out, in any order, and writes NULL for one that the relation does not have", () => {
    const places = columnIndexes([{ name: "a" }, { name: "b" }, { name: "c" }], ["c", "gone", "a"]);
    expect(places).toEqual([2, -1, 0]);
    const writer = new TsvRowWriter(places, 3);
    writer.append(tupleOf(["1", "2", "3"]), "\tv");
    expect(writer.take().toString()).toBe("3\t\\N\t1\tv\n");
  });

  test("takes values that were not sent from the old row, and adds nothing without them", () => {
    const writer = new TsvRowWriter([0, 1], 2);
    writer.append(tupleOf(["0", "zero"]), "");
    const before = writer.bytes;
    const row = tupleOf(["1", unchanged]);
    expect(writer.append(row, "")).toBe(false);
    expect(writer.append(row, "", tupleOf(["1", unchanged]))).toBe(false);
    expect([writer.rows, writer.bytes]).toEqual([1, before]);
    expect(writer.append(row, "", tupleOf(["9", "o\tld"]))).toBe(true);
    expect(writer.append(row, "", tupleOf(["9", null]))).toBe(true);
    expect(writer.take().toString()).toBe("0\tzero\n1\to\\tld\n1\t\\N\n");
  });

  test("a value that was not sent does not matter in a column that is left out", () => {
    const writer = new TsvRowWriter([0], 2);
    expect(writer.append(tupleOf(["1", unchanged]), "")).toBe(true);
  });

  test("a row with more or fewer values than its relation has columns is refused", () => {
    const writer = new TsvRowWriter([0, 1], 2);
    expect(() => writer.append(tupleOf(["1", "2", "3"]), "")).toThrow("a row has 3 values, its relation has 2 columns");
    expect(() => writer.append(tupleOf(["1"]), "")).toThrow("a row has 1 values");
    expect(() => writer.append(tupleOf(["1", "2"]), "", tupleOf(["1"]))).toThrow("a row has 1 values");
  });

  test("grows without losing a byte, and what was taken stays as it is", () => {
    const values = fc.array(fc.option(fc.string({ unit: "binary", maxLength: 60 })), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(values, { maxLength: 40 }), fc.nat(40), (rows, cut) => {
        const writer = new TsvRowWriter(all(3), 3, 8);
        const taken: Buffer[] = [];
        for (const [index, row] of rows.entries()) {
          writer.append(tupleOf(row), "");
          if (index === cut) taken.push(writer.take());
        }
        taken.push(writer.take());
        expect(Buffer.concat(taken).toString()).toBe(rows.map((row) => `${row.map(copyText).join("\t")}\n`).join(""));
      }),
    );
  });
});

/** The documented escapes, written another way. */
function copyText(value: string | null): string {
  if (value === null) return "\\N";
  const names: Record<string, string> = { "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r" };
  return value.replaceAll("\\", "\\\\").replaceAll(/[\b\t\n\v\f\r]/g, (char) => `\\${names[char]}`);
}
