import { expect, test } from "vitest";
import { missingWindow, windowOf } from "./windows.ts";

const of = (engine: string, settings: string) => {
  const window = windowOf({ engine, create_table_query: `CREATE TABLE t (a UInt8) ENGINE = ${engine} ${settings}` });
  return missingWindow({ engine, window });
};
const replicated = "replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 2592000";

test("a table is told what it lacks to remember tokens, replicated ones in blocks and in time", () => {
  expect(of("MergeTree", "")).toEqual(["non_replicated_deduplication_window = 100000"]);
  expect(of("MergeTree", "SETTINGS non_replicated_deduplication_window = 100000")).toBeUndefined();
  for (const engine of ["ReplicatedMergeTree", "ReplicatedReplacingMergeTree", "SharedMergeTree"]) {
    expect(of(engine, "")?.join(", ")).toBe(replicated);
    expect(of(engine, "SETTINGS replicated_deduplication_window = 100000")?.join(", ")).toBe(replicated);
    expect(of(engine, "SETTINGS non_replicated_deduplication_window = 100000")?.join(", ")).toBe(replicated);
    expect(of(engine, `SETTINGS ${replicated}`)).toBeUndefined();
  }
});

test("tables that store no blocks need none", () => {
  for (const engine of ["Null", "Distributed", "MaterializedView"]) expect(of(engine, "")).toBeUndefined();
});
