/** Changes of one table as the rows of its inserts, in an order in which every value that is looked up is there. */
import { describe, expect, test } from "vitest";
import { planOf, relationOf } from "../../../../harness/postgres/relations.ts";
import { tupleOf, unchanged } from "../protocol/tuple.ts";
import { TableChanges, type Versions } from "./table-changes.ts";

const relation = relationOf(1, "t", ["id int4", "note text", "body text"], ["id"]);
const version = (number: number): Versions => ({ tombstone: `${number}0`, row: `${number}1` });
type Values = (string | null | typeof unchanged)[];

function changes() {
  const made = new TableChanges(planOf(relation), relation);
  return {
    insert: (at: number, row: Values) => made.insert({ kind: "insert", relation: 1, row: tupleOf(row) }, version(at)),
    update: (at: number, row: Values, before: { key?: Values; old?: Values } = {}) => {
      const { key, old } = before;
      const told = {
        ...(key === undefined ? {} : { key: tupleOf(key) }),
        ...(old === undefined ? {} : { old: tupleOf(old) }),
      };
      made.update({ kind: "update", relation: 1, row: tupleOf(row), ...told }, version(at));
    },
    delete: (at: number, key: Values) => made.delete({ kind: "delete", relation: 1, key: tupleOf(key) }, version(at)),
    /** The lines of each insert; those of one that looks up values begin with `?`. */
    taken: () =>
      made.take().map(({ sql, body }) => {
        const mark = sql.includes("LEFT JOIN") ? "? " : "";
        return String(body?.())
          .split("\n")
          .slice(0, -1)
          .map((line) => mark + line.replaceAll("\t", " "));
      }),
    made,
  };
}

describe("rows", () => {
  test("of an update have the new values; a deleted row is its key with a mark", () => {
    const of = changes();
    of.insert(1, ["1", "a", null]);
    of.update(2, ["1", "b", "x"]);
    of.delete(3, ["1", null, null]);
    expect(of.taken()).toEqual([["1 a \\N 11 0", "1 b x 21 0", "1 \\N \\N 31 1"]]);
    expect(of.made.changes).toEqual({ inserted: 1, updated: 1, deleted: 1 });
  });

  test("that get another key leave a tombstone under the old one, which is older than the row", () => {
    const of = changes();
    of.update(4, ["2", "a", "x"], { key: ["1", null, null] });
    expect(of.taken()).toEqual([["2 a x 41 0", "1 \\N \\N 40 1"]]);
  });

  test("with the same key leave none, also when the old row is told", () => {
    const of = changes();
    of.update(4, ["1", "a", "x"], { old: ["1", "b", "x"] });
    expect(of.taken()).toEqual([["1 a x 41 0"]]);
  });

  test("take values that were not sent from the old row, where it is told", () => {
    const of = changes();
    of.update(5, ["1", "a", unchanged], { old: ["1", "b", "large"] });
    expect(of.taken()).toEqual([["1 a large 51 0"]]);
  });
});

describe("rows that lack values", () => {
  test("go in after the whole rows before them, and before whole rows of the same key that came later", () => {
    const of = changes();
    of.insert(1, ["1", "a", "large"]);
    of.update(2, ["1", "b", unchanged]);
    of.insert(3, ["2", "c", "whole"]);
    of.update(4, ["1", "d", "other"]);
    expect(of.taken()).toEqual([["1 a large 11 0", "2 c whole 31 0"], ["? 1 b \\N 1 21 0 [2]"], ["1 d other 41 0"]]);
  });

  test("wait for a whole row of their key that came after an earlier one of them", () => {
    const of = changes();
    of.update(1, ["1", "a", unchanged]);
    of.update(2, ["1", "b", "new"]);
    of.update(3, ["1", "c", unchanged]);
    expect(of.taken()).toEqual([["? 1 a \\N 1 11 0 [2]"], ["1 b new 21 0"], ["? 1 c \\N 1 31 0 [2]"]]);
  });

  test("with a new key are looked up under the old one, also by what follows in the same insert", () => {
    const of = changes();
    of.update(1, ["2", "a", unchanged], { key: ["1", null, null] });
    of.update(2, ["2", "b", unchanged]);
    expect(of.taken()).toEqual([["? 2 a \\N 1 11 0 [2]", "? 2 b \\N 1 21 0 [2]"], ["1 \\N \\N 10 1"]]);
  });

  test("count among rows and bytes, as long as they are held", () => {
    const of = changes();
    of.insert(1, ["1", "a", "x"]);
    of.update(2, ["1", "b", unchanged]);
    of.update(3, ["1", "c", "y"]);
    expect(of.made.rows).toBe(3);
    const bytes = of
      .taken()
      .flat()
      .reduce((sum, line) => sum + line.replace("? ", "").length + 1, 0);
    expect(of.made.bytes).toBe(bytes);
  });
});
