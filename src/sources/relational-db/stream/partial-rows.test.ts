/** Which rows may look up their values in one statement: those that need nothing that the statement itself brings. */
import { describe, expect, test } from "vitest";
import { planOf, relationOf } from "../../../../harness/postgres/relations.ts";
import { type Tuple, tupleOf, unchanged } from "../protocol/tuple.ts";
import type { TablePlan } from "../tables/tables.ts";
import { PartialRows } from "./partial-rows.ts";

const plan = planOf(relationOf(1, "t", ["id int4", "a text", "b text"], ["id"]));
const rowsOf = (of: TablePlan = plan) => new PartialRows(of, [0, 1, 2], [0]);
const row = (...values: (string | null | typeof unchanged)[]) => tupleOf(values);

describe("a statement that looks up values", () => {
  test("takes a row again that lacks no more than before: what it lacks is what was there", () => {
    const rows = rowsOf();
    rows.add(row("1", unchanged, unchanged), undefined, "1", "1", "1");
    expect(rows.takes(row("1", "a", unchanged), "1", "1", "2")).toBe(true);
    expect(rows.takes(row("1", unchanged, unchanged), "1", "1", "2")).toBe(true);
  });

  test("does not take a row that lacks what an earlier row of it has told", () => {
    const rows = rowsOf();
    rows.add(row("1", "told", unchanged), undefined, "1", "1", "1");
    expect(rows.takes(row("1", unchanged, unchanged), "1", "1", "2")).toBe(false);
    expect(rows.takes(row("2", unchanged, unchanged), "2", "2", "2")).toBe(true);
  });

  test("does not take a row whose new key is one that it looks up already", () => {
    const rows = rowsOf();
    rows.add(row("1", "a", unchanged), undefined, "1", "1", "1");
    expect(rows.takes(row("1", "b", unchanged), "2", "1", "2")).toBe(false);
  });

  test("is either of the time of the copy or after it: only rows of the copy may be missing", () => {
    const rows = rowsOf({ ...plan, settledFrom: "10" });
    rows.add(row("1", "a", unchanged), undefined, "1", "1", "9");
    expect(rows.takes(row("2", "a", unchanged), "2", "2", "9")).toBe(true);
    expect(rows.takes(row("2", "a", unchanged), "2", "2", "10")).toBe(false);
    expect(rows.take().sql).not.toContain("throwIf");
    expect(rows.takes(row("2", "a", unchanged), "2", "2", "10")).toBe(true);
    rows.add(row("2", "a", unchanged), undefined, "2", "2", "10");
    expect(rows.take().sql).toContain("throwIf");
  });

  test("ends at 5000 rows", () => {
    const rows = rowsOf();
    for (let at = 0; at < 5_000; at += 1) {
      expect(rows.takes(row(`${at}`, "a", unchanged), `${at}`, `${at}`, "1")).toBe(true);
      rows.add(row(`${at}`, "a", unchanged), undefined, `${at}`, `${at}`, "1");
    }
    expect(rows.takes(row("x", "a", unchanged), "x", "x", "1")).toBe(false);
  });
});

describe("a row that lacks values", () => {
  const textOf = (rows: PartialRows) => String(rows.take().body?.());

  test("is written with the key that it is looked up by and the numbers of what it lacks", () => {
    const rows = rowsOf();
    rows.add(row("2", "a\tb", unchanged), row("1", null, null), "1", "2", "7");
    expect(textOf(rows)).toBe("2\ta\\tb\t\\N\t1\t7\t0\t[2]\n");
  });

  test("keeps its key when the message it came in is written over", () => {
    const rows = rowsOf();
    const message = row("1", "a", unchanged);
    rows.add(message, undefined, "1", "1", "1");
    message.message.fill("9");
    rows.add(row("1", "b", unchanged), undefined, "1", "1", "2");
    expect(textOf(rows).split("\n")[1]).toBe("1\tb\t\\N\t1\t2\t0\t[2]");
  });

  test("takes a large key value that was not sent from the old key", () => {
    const rows = new PartialRows(planOf(relationOf(1, "t", ["id text", "a text"], ["id"])), [0, 1], [0]);
    rows.add(row(unchanged, unchanged), row("large", null), "k", "k", "1");
    expect(textOf(rows)).toBe("large\t\\N\tlarge\t1\t0\t[1]\n");
  });

  test("asks for no more columns than some row lacks", () => {
    const rows = rowsOf();
    rows.add(row("1", "a", unchanged) as Tuple, undefined, "1", "1", "1");
    const { sql } = rows.take();
    expect(sql).toContain("`b` AS f2");
    expect(sql).not.toContain("`a` AS f1");
  });
});
