import { expect, test } from "vitest";
import { proposedTable } from "./proposal.ts";

const target = { database: "default", table: "events" };
const field = (name: string, type: string) => ({ name, type, optional: type.startsWith("Nullable") });
const fields = [
  field("event_id", "Int64"),
  field("maybe", "Nullable(String)"),
  field("level", "String"),
  field("received_at", "DateTime"),
  field("text", "String"),
];
const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    parsed: { event_id: String(at), maybe: null, level: at % 2 ? "info" : "error", text: `text ${at}` },
  }));

test("values that repeat come first, then the time, then what tells rows apart, each with its reason", () => {
  const { columns, tableDefinition, sortingKeyReason, createTable } = proposedTable(
    { fields, samples: rows(20) },
    target,
  );
  expect(tableDefinition).toEqual({ engine: { type: "MergeTree" }, sortingKey: ["level", "received_at", "event_id"] });
  expect(columns).toEqual(fields.map(({ name, type }) => ({ name, type })));
  expect(sortingKeyReason).toMatch(/^level: .*\(2 in 20 samples\).*; received_at: a time.*; event_id: different/);
  expect(createTable).toContain("CREATE TABLE IF NOT EXISTS `default`.`events` (");
  expect(createTable).toContain("ORDER BY (`level`, `received_at`, `event_id`)");
});

test("few samples say nothing of repetition, and a field without a value in every sample is not a key", () => {
  expect(proposedTable({ fields, samples: rows(4) }, target).tableDefinition.sortingKey).toEqual([
    "received_at",
    "event_id",
  ]);
  const [, maybe] = fields as [(typeof fields)[0], (typeof fields)[0]];
  const none = proposedTable({ fields: [maybe], samples: rows(20) }, target);
  expect(none.tableDefinition.sortingKey).toEqual([]);
  expect(none.sortingKeyReason).toContain("No field");
});
