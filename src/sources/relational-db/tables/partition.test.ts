/** Which expressions may divide a destination table, and how they get into its statement. */
import { expect, test } from "vitest";
import type { SourceColumn, SourceTable } from "../declaration/durable.ts";
import { partitionProblem } from "./partition.ts";
import { createTargetTableSql, planTable } from "./tables.ts";

const table = { engine: "ReplacingMergeTree", columns: ["id", "at", "note"], key: ["id", "at"] } as const;

test.each(["toYYYYMM(at)", "intDiv(id, 1000)", "(toYYYYMM(at), id % 8)", "`at`"])(
  "%s keeps a row in one partition",
  (text) => expect(partitionProblem(text, table)).toBeUndefined(),
);

test.each([
  ["toYYYYMM(note)", /must use columns of the sorting key alone \(id, at\): an update of another column would leave/],
  ["id % length(note)", /must use columns of the sorting key alone/],
  ["toYYYYMM(gone)", /names gone, which is not a destination column/],
  ["_version", /names _version, which is not a destination column/],
  ["rand()", /must not call the function rand/],
  ["(SELECT 1)", /names SELECT, which is not/],
  ["id) ORDER BY (at", /closing parenthesis/],
  ["id -- comment", /must not contain a comment/],
])("%s is refused", (text, message) => expect(partitionProblem(text, table)).toMatch(message));

test("a table that keeps every change may be divided by any column, and one that keeps none by nothing", () => {
  expect(partitionProblem("length(note)", { ...table, engine: "MergeTree" })).toBeUndefined();
  expect(partitionProblem("id", { ...table, engine: "Null" })).toMatch(/absent with tableEngine Null/);
});

function column(name: string, attnum: number): SourceColumn {
  const type = { oid: 25, name: "text", kind: "base" as const, typmod: -1, delimiter: "," };
  const names = { name, attnum, typeOid: 25, typeName: "text", typmod: -1 };
  return { ...names, type, dimensions: 0, notNull: true, generated: false };
}

const source: SourceTable = {
  ...{ oid: 1, schema: "public", name: "t", relkind: "r", replicaIdentity: "d", key: ["id"] },
  columns: [column("id", 1), column("note", 2)],
};
const planned = (partitionByExpr: string) =>
  planTable(source, { sourceSchemaName: "public", sourceTable: "t", targetTable: "t", partitionByExpr }, "d", {
    nullable: false,
    hardDelete: false,
  });

test("the table and the one beside it while a copy is made have the same partitions", () => {
  for (const name of ["t", "t_resync"]) {
    expect(createTargetTableSql(planned("length(id), id"), name, "")).toContain(
      "ENGINE = ReplacingMergeTree(`_version`) PARTITION BY (length(id), id) ORDER BY (`id`) SETTINGS",
    );
  }
});

test("a key that has changed at the source since the request is noticed before a table is made", () => {
  expect(() => planned("length(note)")).toThrow(
    "Table public.t cannot have this partitionByExpr, which must use columns of the sorting key alone (id)",
  );
});
