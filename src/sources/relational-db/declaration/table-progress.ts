/** The state of each table of a Postgres pipe, from what its ledger keeps of it. */
import type { Json, JsonObject } from "../../../lib/json.ts";
import type { TableProgress } from "../../contract/several-tables.ts";

/** `marks` as they are stored. A table whose mark is missing has not been looked at yet. */
export function tablesOf(config: JsonObject, marks: Readonly<Record<string, Json>>): TableProgress[] {
  const { replicationMode } = (config.settings ?? {}) as JsonObject;
  return (config.tableMappings as JsonObject[]).map((mapping) => {
    const targetTable = String(mapping.targetTable);
    const sourceTable = `${mapping.sourceSchemaName}.${mapping.sourceTable}`;
    const mark = marks[`table:${targetTable}`] as JsonObject | null | undefined;
    const table = { targetTable, sourceTable };
    if (mark === undefined || mark === null) return { ...table, state: "Setup" };
    if (mark.again === true) return { ...table, state: "Setup" };
    if (mark.stopped !== undefined) return { ...table, state: "Stopped", ...whyStopped(mark) };
    if (mark.copied === undefined) return { ...table, state: "Snapshot" };
    return { ...table, state: replicationMode === "snapshot" ? "Completed" : "Running" };
  });
}

function whyStopped({ stopped, stoppedAt, remedy }: JsonObject) {
  return {
    reason: String(stopped),
    ...(stoppedAt === undefined ? {} : { stoppedAt: String(stoppedAt) }),
    ...(remedy === undefined ? {} : { remedy: String(remedy) }),
  };
}
