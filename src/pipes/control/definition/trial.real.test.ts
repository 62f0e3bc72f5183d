/** Definitions of destination tables are tried with a real engine, and the member at fault is named. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { MessageEngine } from "../../../../harness/engine/message-engine.ts";
import { refusedByEngine } from "./trial.ts";

let engine: MessageEngine;
beforeAll(async () => {
  engine = await MessageEngine.open();
});
afterAll(() => engine[Symbol.asyncDispose]());

const columns = [
  { name: "id", type: "UInt64" },
  { name: "name", type: "Nullable(String)" },
  { name: "version", type: "DateTime64(3)" },
];
const refused = async (definition: Parameters<typeof refusedByEngine>[1]) =>
  (await refusedByEngine(engine.client, definition)).map(({ path, message }) => `${path}: ${message}`);

test.each([
  [{}],
  [{ sortingKey: ["id"], partitionBy: "toYYYYMM(version)", primaryKey: "id" }],
  [{ engine: { type: "ReplacingMergeTree", versionColumnId: "version" }, sortingKey: ["id"] }],
  [{ engine: { type: "SummingMergeTree", columnIds: ["id"] }, sortingKey: ["version"] }],
  [{ engine: { type: "Null" } }],
])("what the engine takes is not refused: %j", async (tableDefinition) => {
  expect(await refused({ columns, tableDefinition })).toEqual([]);
});

test("types that are none are named, all of them", async () => {
  const wrong = [...columns, { name: "a", type: "Flaot64" }, { name: "b", type: "Nullable(Array(String))" }];
  expect(await refused({ columns: wrong, tableDefinition: { sortingKey: ["id"] } })).toEqual([
    expect.stringMatching(/^destination.columns.3.type: Unknown data type family: Flaot64.*Float64/),
    expect.stringMatching(/^destination.columns.4.type: Nested type Array\(String\) cannot be inside Nullable/),
  ]);
});

test.each([
  [{ sortingKey: ["name"] }, /^destination.tableDefinition.sortingKey: .*[Nn]ullable/],
  [{ partitionBy: "toYYYYMM(name)" }, /^destination.tableDefinition.partitionBy: /],
  [{ sortingKey: ["id"], primaryKey: "version" }, /^destination.tableDefinition.primaryKey: /],
  [
    { engine: { type: "ReplacingMergeTree", versionColumnId: "name" }, sortingKey: ["id"] },
    /^destination.tableDefinition.engine.versionColumnId: /,
  ],
  [
    { engine: { type: "SummingMergeTree", columnIds: ["version"] }, sortingKey: ["id"], partitionBy: "version" },
    /^destination.tableDefinition: /,
  ],
])("the member at fault is named: %j", async (tableDefinition, sentence) => {
  expect(await refused({ columns, tableDefinition })).toEqual([expect.stringMatching(sentence)]);
});

test("one wrong type of thousands is found, and nothing is left behind", async () => {
  const many = Array.from({ length: 3000 }, (_, i) => ({ name: `c${i}`, type: i === 1234 ? "Strin" : "String" }));
  expect(await refused({ columns: many })).toEqual([expect.stringContaining("destination.columns.1234.type")]);
  const left = "SELECT count() AS n FROM system.tables WHERE name = 'definition' OR is_temporary";
  expect(await engine.query(left)).toEqual([{ n: "0" }]);
});
