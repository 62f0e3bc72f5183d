/** The statements that make a pipe's managed table: the worker runs them, and the checks of a request try them. */
import { identifier, literal, tableName } from "../clickhouse/sql.ts";
import { engineName, onCluster, plainForm, type TableForm, windowSettings } from "../clickhouse/table-form.ts";
import type { TargetTable } from "../sources/contract/source.ts";
import type { PipeDestination } from "../store/pipes/pipes.ts";

type Named = Pick<TargetTable, "database" | "table">;

/** The name of the table that stores the rows: beside a `Distributed` one on a cluster of several shards. */
export function storedTable(table: string, definition: PipeDestination, form: TableForm): string {
  return isSharded(definition, form) ? `${table}_local` : table;
}

/**
 * The statements that create a managed table, in order. On a cluster of several shards the pipe's table is a
 * `Distributed` one. The guard accepted types and expressions when the pipe was created.
 */
export function managedTableStatements(
  { database, table }: Named,
  definition: PipeDestination,
  form: TableForm = plainForm,
): string[] {
  const head = (name: string) => `CREATE TABLE IF NOT EXISTS ${tableName(database, name)}${onCluster(form)}`;
  const stored = storedTable(table, definition, form);
  const statements = [`${head(stored)} ${definitionSql(definition, form)}`];
  if (stored === table) return statements;
  const columns = (definition.columns ?? []).map(columnSql).join(",\n");
  const parts = [form.cluster ?? "", database, stored].map(literal).join(", ");
  const engine = `Distributed(${parts}, ${shardingKey(definition)})`;
  return [...statements, `${head(table)} (\n${columns}\n)\nENGINE = ${engine}\nCOMMENT ${literal(comment)}`];
}

/** A `Null` table stores nothing: its views do, on the shard that a batch is sent to. */
function isSharded({ tableDefinition }: PipeDestination, { shards }: TableForm): boolean {
  return shards > 1 && tableDefinition?.engine?.type !== "Null";
}

/**
 * Depends on the values of a row alone, so that a repeated batch sends every row to the same shard. Engines that
 * combine rows of one sorting key need them on one shard; otherwise all columns spread rows best.
 */
function shardingKey({ columns, tableDefinition }: PipeDestination): string {
  const { engine, sortingKey } = tableDefinition ?? {};
  const combines = (engine?.type ?? "MergeTree") !== "MergeTree";
  const names = combines ? (sortingKey ?? []) : (columns ?? []).map(({ name }) => name);
  return names.length === 0 ? "0" : `cityHash64(${names.map(identifier).join(", ")})`;
}

const comment = "Made by a Millrace pipe";

/** What follows the table's name in the statement. */
export function definitionSql(
  definition: Pick<PipeDestination, "columns" | "tableDefinition">,
  form: TableForm = plainForm,
): string {
  const { engine, sortingKey, partitionBy, primaryKey } = definition.tableDefinition ?? {};
  const columns = (definition.columns ?? []).map(columnSql).join(",\n");
  const type = engine?.type ?? "MergeTree";
  const head = `(\n${columns}\n)`;
  const tail = `COMMENT ${literal(comment)}`;
  if (type === "Null") return `${head} ENGINE = Null ${tail}`;
  const order = (sortingKey ?? []).map(identifier).join(", ");
  return [
    `${head} ENGINE = ${engineName(form, type)}(${engineArguments(engine)})`,
    partitionBy === undefined ? "" : `PARTITION BY ${partitionBy}`,
    primaryKey === undefined ? "" : `PRIMARY KEY (${primaryKey}\n)`,
    `ORDER BY (${order})`,
    `SETTINGS ${windowSettings(form).join(", ")}`,
    tail,
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
