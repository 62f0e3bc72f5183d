/** Destination tables: the statements that make one ready for exactly-once inserts. */
import { isWord, tokenize } from "../clickhouse/lexer.ts";
import { identifier, literal, tableName } from "../clickhouse/sql.ts";
import type { DestinationTable } from "../sources/source.ts";
import type { Pipe, PipeDestination } from "../store/pipes.ts";

/** Parts of which the engine remembers the tokens: far more than the batches in flight make, partitions included. */
export const deduplicationWindow = 100_000;

type Query = (sql: string, params?: Readonly<Record<string, string>>) => Promise<Record<string, unknown>[]>;

/** The table a pipe fills, with the source field of every column; unmapped pipes map by name. */
export function destinationTable(pipe: Pick<Pipe, "destination" | "fieldMappings">): DestinationTable {
  const { destination, fieldMappings } = pipe;
  const fields = new Map(fieldMappings.map((mapping) => [mapping.destinationField, mapping.sourceField]));
  return {
    database: destination.database ?? "default",
    table: destination.table ?? "",
    columns: (destination.columns ?? []).map((column) => ({
      ...column,
      sourceField: fields.get(column.name) ?? column.name,
    })),
  };
}

/** Creates a managed table; repeating it is harmless. The parts have been checked when the pipe was created. */
export function managedTableSql(destination: PipeDestination): string[] {
  const database = destination.database ?? "default";
  const columns = (destination.columns ?? []).map((column) => `${identifier(column.name)} ${column.type}`);
  const definition = destination.tableDefinition ?? {};
  const engine = engineSql(definition.engine ?? {});
  const sortingKey = (definition.sortingKey ?? []).map(identifier);
  const isNull = engine === "Null";
  const parts = [
    `CREATE TABLE IF NOT EXISTS ${tableName(database, destination.table ?? "")} (${columns.join(", ")}) ENGINE = ${engine}`,
    definition.partitionBy === undefined || isNull ? "" : `PARTITION BY ${definition.partitionBy}`,
    definition.primaryKey === undefined || isNull ? "" : `PRIMARY KEY ${definition.primaryKey}`,
    isNull ? "" : `ORDER BY (${sortingKey.length === 0 ? "tuple()" : sortingKey.join(", ")})`,
    isNull ? "" : `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}`,
  ];
  return [`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`, parts.filter((part) => part !== "").join(" ")];
}

/** ReplacingMergeTree follows from a version column, SummingMergeTree from summed columns, when no type is given. */
function engineSql(engine: NonNullable<NonNullable<PipeDestination["tableDefinition"]>["engine"]>): string {
  const inferred = engine.versionColumnId !== undefined ? "ReplacingMergeTree" : "SummingMergeTree";
  const type = engine.type ?? ((engine.versionColumnId ?? engine.columnIds) ? inferred : "MergeTree");
  if (type === "ReplacingMergeTree") return `ReplacingMergeTree(${identifier(engine.versionColumnId ?? "")})`;
  if (type === "SummingMergeTree" && engine.columnIds?.length) {
    return `SummingMergeTree((${engine.columnIds.map(identifier).join(", ")}))`;
  }
  return type;
}

/**
 * Statements that give a table, and the targets of materialized views on it, the memory for tokens that exactly-once
 * needs. Tables that have one, or keep no parts, need nothing.
 */
export async function windowStatements(database: string, table: string, query: Query): Promise<string[]> {
  const statements: string[] = [];
  const seen = new Set<string>();
  const queue: [string, string][] = [[database, table]];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [db, name] = next;
    if (seen.has(`${db}\0${name}`)) continue;
    seen.add(`${db}\0${name}`);
    const [facts] = await query(
      `SELECT engine, engine_full, dependencies_database, dependencies_table, create_table_query
       FROM system.tables WHERE database = {db:String} AND name = {name:String}`,
      { db, name },
    );
    if (facts === undefined) continue;
    if (needsWindow(String(facts.engine), String(facts.engine_full))) {
      statements.push(
        `ALTER TABLE ${tableName(db, name)} MODIFY SETTING non_replicated_deduplication_window = ${deduplicationWindow}`,
      );
    }
    const views = facts.dependencies_table as string[];
    for (const [index, view] of views.entries()) {
      const target = await viewTarget((facts.dependencies_database as string[])[index] ?? db, view, query);
      if (target !== undefined) queue.push(target);
    }
  }
  return statements;
}

function needsWindow(engine: string, engineFull: string): boolean {
  if (!engine.endsWith("MergeTree") || engine.startsWith("Replicated") || engine.startsWith("Shared")) return false;
  const own = /non_replicated_deduplication_window = (\d+)/.exec(engineFull)?.[1];
  return Number(own ?? 0) < deduplicationWindow;
}

/** Where a materialized view writes: the table behind TO, or its inner table. */
async function viewTarget(database: string, view: string, query: Query): Promise<[string, string] | undefined> {
  const [facts] = await query(
    `SELECT engine, create_table_query, toString(uuid) AS id FROM system.tables
     WHERE database = {db:String} AND name = {name:String}`,
    { db: database, name: view },
  );
  if (facts === undefined || facts.engine !== "MaterializedView") return undefined;
  const tokens = tokenize(String(facts.create_table_query));
  const to = tokens.findIndex((token) => isWord(token, "TO"));
  const select = tokens.findIndex((token) => isWord(token, "AS"));
  if (to < 0 || (select >= 0 && to > select)) return [database, `.inner_id.${String(facts.id)}`];
  const [first, dot, second] = tokens.slice(to + 1);
  if (dot?.text === "." && second !== undefined) return [first?.value ?? database, second.value];
  return [database, first?.value ?? ""];
}

/** The columns of an existing table that can be inserted into, in order; undefined when there is no such table. */
export async function existingColumns(
  database: string,
  table: string,
  query: Query,
): Promise<{ name: string; type: string }[] | undefined> {
  const rows = await query(
    `SELECT name, type FROM system.columns WHERE database = ${literal(database)} AND table = ${literal(table)}
     AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`,
  );
  return rows.length === 0 ? undefined : rows.map((row) => ({ name: String(row.name), type: String(row.type) }));
}
