/** Tables that a change adds to a Postgres pipe, or takes out of it. */
import { z } from "zod";
import type { Issue } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ListChange, ListChanged } from "../../contract/list-change.ts";
import { sourceName, tableMapping } from "./table-mapping.ts";

const maxTables = 10_000;

/** The members that name the table; a client may send the whole mapping. */
const removedMapping = tableMapping.partial().extend({ sourceSchemaName: sourceName, sourceTable: sourceName });

export const mappingChanges = {
  members: {
    tableMappingsToAdd: z
      .array(tableMapping)
      .max(maxTables)
      .optional()
      .describe("Tables that the pipe copies and then follows, while it goes on with the others"),
    tableMappingsToRemove: z
      .array(removedMapping)
      .max(maxTables)
      .optional()
      .describe(
        "Tables that the pipe stops following, by `sourceSchemaName` and `sourceTable`; their destination tables stay",
      ),
  },
  apply: changedMappings,
} satisfies ListChange;

/** Tables are removed first: one that is in both lists is copied anew under its new mapping. */
function changedMappings(current: JsonObject, given: JsonObject): ListChanged {
  const { tableMappingsToAdd, tableMappingsToRemove, ...change } = given;
  const [added, removed] = [listOf(tableMappingsToAdd), listOf(tableMappingsToRemove)];
  if (added.length + removed.length === 0) return { change, removed: [], issues: [] };
  if (change.tableMappings != null) {
    const message = "cannot be combined with tableMappingsToAdd or tableMappingsToRemove";
    return { change, removed: [], issues: [{ path: "tableMappings", message }] };
  }
  const issues: Issue[] = [];
  const mappings = [...listOf(current.tableMappings)];
  const targets: string[] = [];
  for (const [index, wanted] of removed.entries()) {
    const at = mappings.findIndex((mapping) => isSameTable(mapping, wanted));
    const [gone] = at < 0 ? [] : mappings.splice(at, 1);
    if (gone === undefined) issues.push(removalIssue(index, wanted));
    else targets.push(String(gone.targetTable));
  }
  for (const [index, wanted] of added.entries()) {
    issues.push(...additionIssues(index, wanted, mappings));
    mappings.push(wanted);
  }
  if (mappings.length === 0) {
    issues.push({ path: "tableMappingsToRemove", message: "leaves no table; delete the pipe instead" });
  }
  if (mappings.length > maxTables) {
    issues.push({ path: "tableMappingsToAdd", message: `makes ${mappings.length} tables; ${maxTables} are allowed` });
  }
  return { change: { ...change, tableMappings: mappings }, removed: targets, issues };
}

function listOf(value: unknown): readonly JsonObject[] {
  return (value ?? []) as readonly JsonObject[];
}

function isSameTable(mapping: JsonObject, { sourceSchemaName, sourceTable, targetTable }: JsonObject): boolean {
  if (mapping.sourceSchemaName !== sourceSchemaName || mapping.sourceTable !== sourceTable) return false;
  return targetTable == null || mapping.targetTable === targetTable;
}

function removalIssue(index: number, { targetTable, ...wanted }: JsonObject): Issue {
  const into = targetTable == null ? "" : ` into ${targetTable}`;
  return { path: `tableMappingsToRemove.${index}`, message: `${shown(wanted)}${into} is not a table of this pipe` };
}

function additionIssues(index: number, wanted: JsonObject, mappings: readonly JsonObject[]): Issue[] {
  const path = `tableMappingsToAdd.${index}`;
  const same = mappings.find((mapping) => shown(mapping) === shown(wanted));
  if (same !== undefined) {
    const message = `${shown(wanted)} is a table of this pipe already; remove it in the same request to change its mapping`;
    return [{ path: `${path}.sourceTable`, message }];
  }
  const taken = mappings.find(({ targetTable }) => targetTable === wanted.targetTable);
  if (taken === undefined) return [];
  return [{ path: `${path}.targetTable`, message: `${wanted.targetTable} is the table of ${shown(taken)} already` }];
}

function shown({ sourceSchemaName, sourceTable }: JsonObject): string {
  return `${sourceSchemaName}.${sourceTable}`;
}
