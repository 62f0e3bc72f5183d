/** Columns added to tables without a key: all columns are the key then, so the table's order would have to change. */
import { expect, test } from "vitest";
import type { SourceColumn, SourceTable } from "../declaration/durable.ts";
import type { Relation } from "../protocol/pgoutput.ts";
import { evolve, fits } from "./evolve.ts";
import type { TableState } from "./table-states.ts";
import { createTargetTableSql, planTable } from "./tables.ts";

function column(name: string, attnum: number): SourceColumn {
  const type = { oid: 25, name: "text", kind: "base" as const, typmod: -1, delimiter: "," };
  const names = { name, attnum, typeOid: 25, typeName: "text", typmod: -1 };
  return { ...names, type, dimensions: 0, notNull: false, generated: false };
}

const a = column("a", 1);
const b = column("b", 2);

function table(key: readonly string[], columns: readonly SourceColumn[]): SourceTable {
  return { oid: 1, schema: "public", name: "t", relkind: "r", replicaIdentity: "f", columns, key };
}

function addB(key: readonly string[]): ReturnType<typeof evolve> {
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "t" };
  const source = table(key, [a]);
  const plan = planTable(source, mapping, "default", { nullable: true, hardDelete: false });
  const columns = ["a", "b"].map((name) => ({ name, key: true, typeOid: 25, typmod: -1 }));
  const relation: Relation = { kind: "relation", oid: 1, schema: "public", name: "t", replicaIdentity: "f", columns };
  return evolve({ plan, source } as TableState, relation, table(key, [a, b]), true);
}

test("a column added to a table without a key stops it; with a key it is added", () => {
  expect(addB([])).toMatch(/column b was added, and without a key/);
  expect(addB(["a"])).toMatchObject({ statements: [expect.stringMatching(/ADD COLUMN IF NOT EXISTS `b`/)] });
});

test("a table without a key keeps NULL apart from the empty value in its key", () => {
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "t" };
  const sqlOf = (key: readonly string[]) =>
    createTargetTableSql(
      planTable(table(key, [a, b]), mapping, "default", { nullable: true, hardDelete: false }),
      "t",
      "",
    );
  expect(sqlOf([])).toMatch(/`a` Nullable\(String\), `b` Nullable\(String\).*allow_nullable_key = 1/);
  expect(sqlOf(["a"])).toMatch(/`a` String, `b` Nullable\(String\)/);
  expect(sqlOf(["a"])).not.toContain("allow_nullable_key");
});

test("names that were exchanged, and back again before it was followed, stop the table", () => {
  const mapping = { sourceSchemaName: "public", sourceTable: "t", targetTable: "t" };
  const source = table(["a"], [a, b, column("c", 3)]);
  const plan = planTable(source, mapping, "default", { nullable: true, hardDelete: false });
  const columns = ["a", "c", "b"].map((name) => ({ name, key: name === "a", typeOid: 25, typmod: -1 }));
  const relation: Relation = { kind: "relation", oid: 1, schema: "public", name: "t", replicaIdentity: "d", columns };
  const state = { plan, source } as TableState;
  expect(fits(state, relation)).toBe(false);
  expect(evolve(state, relation, source, true)).toMatch(/names of its columns have been exchanged/);
  const exchanged = table(["a"], [a, column("c", 2), column("b", 3)]);
  expect(evolve(state, relation, exchanged, true)).toMatch(/has the name of another one now/);
});
