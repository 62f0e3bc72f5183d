/** The statements that make a pipe's managed table: the worker runs them, and the checks of a request try them. */
import { identifier, literal, tableName } from "../clickhouse/sql.ts";
import type { TargetTable } from "../sources/source.ts";
import type { PipeDestination } from "../store/pipes.ts";

/** Number of blocks whose tokens the engine remembers: more than any batch in progress can have. */
export const dedupWindow = 100_000;

/** The statement that creates a managed table. The guard accepted types and expressions when the pipe was created. */
export function createManagedTableSql(
  table: Pick<TargetTable, "database" | "table">,
  definition: PipeDestination,
): string {
  return `CREATE TABLE IF NOT EXISTS ${tableName(table.database, table.table)} ${definitionSql(definition)}`;
}

/** What follows the table's name in the statement. */
export function definitionSql(definition: Pick<PipeDestination, "columns" | "tableDefinition">): string {
  const { engine, sortingKey, partitionBy, primaryKey } = definition.tableDefinition ?? {};
  const columns = (definition.columns ?? []).map(columnSql).join(",\n");
  const type = engine?.type ?? "MergeTree";
  const head = `(\n${columns}\n)`;
  const comment = `COMMENT ${literal("Made by a Millrace pipe")}`;
  if (type === "Null") return `${head} ENGINE = Null ${comment}`;
  const order = (sortingKey ?? []).map(identifier).join(", ");
  return [
    `${head} ENGINE = ${type}(${engineArguments(engine)})`,
    partitionBy === undefined ? "" : `PARTITION BY ${partitionBy}`,
    primaryKey === undefined ? "" : `PRIMARY KEY (${primaryKey}\n)`,
    `ORDER BY (${order})`,
    `SETTINGS non_replicated_deduplication_window = ${dedupWindow}`,
    comment,
    // On separate lines: a text that ends in a comment hides nothing after it.
  ].join("\n");
}

function engineArguments(engine: NonNullable<PipeDestination["tableDefinition"]>["engine"]): string {
  if (engine?.type === "ReplacingMergeTree" && engine.versionColumnId !== undefined) {
    return identifier(engine.versionColumnId);
  }
  const columns = engine?.type === "SummingMergeTree" ? (engine.columnIds ?? []) : [];
  return columns.length === 0 ? "" : `(${columns.map(identifier).join(", ")})`;
}

/** A column in a CREATE or ALTER statement. */
export function columnSql({ name, type }: { readonly name: string; readonly type: string }): string {
  return `${identifier(name)} ${type}`;
}
