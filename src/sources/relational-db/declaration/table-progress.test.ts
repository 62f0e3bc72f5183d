import { expect, test } from "vitest";
import { tablesOf } from "./table-progress.ts";

const mapping = (targetTable: string) => ({ sourceSchemaName: "public", sourceTable: targetTable, targetTable });
const tableMappings = ["new", "copying", "followed", "stopped"].map(mapping);
const marks = {
  "table:copying": { copy: "a" },
  "table:followed": { copy: "b", copied: "0/1" },
  "table:stopped": { copy: "c", copied: "0/1", stopped: "a row does not fit", remedy: "Mend it." },
  "table:gone": { copy: "d" },
};

test("each table of the pipe has a state, and a stopped one its reason", () => {
  expect(tablesOf({ tableMappings }, marks)).toEqual([
    { targetTable: "new", sourceTable: "public.new", state: "Setup" },
    { targetTable: "copying", sourceTable: "public.copying", state: "Snapshot" },
    { targetTable: "followed", sourceTable: "public.followed", state: "Running" },
    {
      targetTable: "stopped",
      sourceTable: "public.stopped",
      state: "Stopped",
      reason: "a row does not fit",
      remedy: "Mend it.",
    },
  ]);
  const once = tablesOf({ tableMappings, settings: { replicationMode: "snapshot" } }, marks);
  expect(once.map(({ state }) => state)).toEqual(["Setup", "Snapshot", "Completed", "Stopped"]);
});
