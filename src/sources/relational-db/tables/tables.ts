/** The destination tables of a pipe: what they look like, and the statements that make and fill them. */
import { identifier, literal, tableName } from "../../../clickhouse/sql.ts";
import { engineName, onCluster, plainForm, type TableForm, windowSettings } from "../../../clickhouse/table-form.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Insert } from "../../contract/source.ts";
import type { SourceColumn, SourceTable } from "../declaration/durable.ts";
import type { TableMapping } from "../declaration/table-mapping.ts";
import { replicatedColumns } from "../server/catalog.ts";
import { type Partitioned, partitionProblem } from "./partition.ts";
import { type ColumnPlan, columnPlan, insertSettings } from "./types.ts";

export const versionColumn = "_version";
export const deletedColumn = "_deleted";

/** A table of the pipe: source, destination and how values get from one to the other. */
export type TablePlan = {
  readonly source: SourceTable;
  readonly mapping: TableMapping;
  readonly database: string;
  readonly target: string;
  readonly engine: "ReplacingMergeTree" | "MergeTree" | "Null";
  readonly sourceColumns: readonly SourceColumn[];
  readonly columns: readonly ColumnPlan[];
  /** Columns of the sorting key: two rows that agree in them are one row. */
  readonly key: readonly string[];
  /** All columns are the key, so that key columns may be NULL. */
  readonly isKeyless: boolean;
  /** Deleted rows go away when parts merge. */
  readonly hardDelete: boolean;
  readonly form: TableForm;
  /** Smaller versions are of changes before the end of the copy, which may be of rows that the copy did not find. */
  readonly settledFrom?: string;
};

export type PlanSettings = {
  readonly nullable: boolean;
  readonly hardDelete: boolean;
  /** On one server when absent. */
  readonly form?: TableForm;
};

/** Throws AppError SOURCE_INVALID when the table cannot be replicated as it is asked for. */
export function planTable(
  source: SourceTable,
  mapping: TableMapping,
  database: string,
  settings: PlanSettings,
): TablePlan {
  const engine = mapping.tableEngine ?? "ReplacingMergeTree";
  const sourceColumns = replicatedColumns(source, mapping.excludedColumns);
  const names = sourceColumns.map((column) => column.name);
  const key = keyOf(source, mapping, names, engine);
  requirePartition(source, mapping, { engine, columns: names, key });
  for (const own of [versionColumn, deletedColumn]) {
    if (names.includes(own)) refuse(source, `has a column ${own}, which is a name of ours: exclude or rename it`);
  }
  const isKeyless = source.replicaIdentity === "f" && source.key.length === 0;
  const { nullable } = settings;
  const columns = sourceColumns.map((column) =>
    columnPlan(column, { nullable, key: key.includes(column.name) && (!isKeyless || column.notNull) }),
  );
  const { targetTable: target } = mapping;
  return {
    source,
    mapping,
    database,
    target,
    engine,
    sourceColumns,
    columns,
    key,
    isKeyless,
    hardDelete: settings.hardDelete,
    form: settings.form ?? plainForm,
  };
}

function keyOf(source: SourceTable, mapping: TableMapping, names: readonly string[], engine: string): string[] {
  const identity = identityOf(source, names);
  if (identity.length === 0 && engine === "ReplacingMergeTree") {
    const remedy = "give it a primary key or REPLICA IDENTITY FULL, or map it with tableEngine MergeTree";
    refuse(source, `has neither a primary key nor a replica identity: ${remedy}`);
  }
  const missing = identity.find((name) => !names.includes(name));
  if (missing !== undefined) refuse(source, `cannot be replicated without its key column ${missing}`);
  if (mapping.useCustomSortingKey !== true) return identity;
  const custom = mapping.sortingKeys ?? [];
  const unknown = custom.find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(source, `has no column ${unknown}, which sortingKeys names`);
  const unsent = custom.find((name) => !identity.includes(name));
  if (unsent !== undefined && source.replicaIdentity !== "f" && engine === "ReplacingMergeTree") {
    refuse(source, `needs REPLICA IDENTITY FULL for ${unsent} in sortingKeys: else deletes do not tell its value`);
  }
  return [...custom, ...identity.filter((name) => !custom.includes(name))];
}

function requirePartition(source: SourceTable, { partitionByExpr }: TableMapping, of: Partitioned): void {
  const problem = partitionByExpr === undefined ? undefined : partitionProblem(partitionByExpr, of);
  if (problem !== undefined) refuse(source, `cannot have this partitionByExpr, which ${problem}`);
}

/** The columns that identify rows, and that updates and deletes carry. */
function identityOf(source: SourceTable, names: readonly string[]): string[] {
  if (source.replicaIdentity === "n") return [];
  if (source.key.length > 0) return [...source.key];
  return source.replicaIdentity === "f" ? [...names] : [];
}

function refuse(source: SourceTable, what: string): never {
  throw new AppError("SOURCE_INVALID", `Table ${source.schema}.${source.name} ${what}.`);
}

/** Creates a destination table under `name`; the comment says whose it is. */
export function createTargetTableSql(plan: TablePlan, name: string, comment: string): string {
  const head = `CREATE TABLE IF NOT EXISTS ${tableName(plan.database, name)}${onCluster(plan.form)}`;
  return `${head} ${targetDefinitionSql(plan)} COMMENT ${literal(comment)}`;
}

/** What follows the table's name: columns, engine, partitions, order and settings. */
export function targetDefinitionSql(plan: TablePlan): string {
  const columns = [...plan.columns, ...ownColumns].map(({ name: of, type }) => `${identifier(of)} ${type}`).join(", ");
  if (plan.engine === "Null") return `(${columns}) ENGINE = Null`;
  const version = [versionColumn, ...(plan.hardDelete ? [deletedColumn] : [])].map(identifier).join(", ");
  const type = engineName(plan.form, plan.engine);
  const engine = plan.engine === "MergeTree" ? type : `${type}(${version})`;
  const settings = windowSettings(plan.form);
  if (plan.isKeyless) settings.push("allow_nullable_key = 1");
  if (plan.hardDelete && plan.engine === "ReplacingMergeTree") settings.push(...cleanUpSettings);
  const order = plan.key.map(identifier).join(", ");
  const { partitionByExpr } = plan.mapping;
  const partition = partitionByExpr === undefined ? "" : ` PARTITION BY (${partitionByExpr})`;
  return `(${columns}) ENGINE = ${engine}${partition} ORDER BY (${order}) SETTINGS ${settings.join(", ")}`;
}

const cleanUpSettings = [
  "allow_experimental_replacing_merge_with_cleanup = 1",
  "enable_replacing_merge_with_cleanup_for_min_age_to_force_merge = 1",
  "min_age_to_force_merge_on_partition_only = 1",
  "min_age_to_force_merge_seconds = 3600",
];

/** Name of the view that shows the rows as they are at the source. */
export function viewName(target: string): string {
  return `${target}_current`;
}

/** A view for readers: the newest version of each row, without the deleted ones and without our columns. */
export function createViewSql(plan: TablePlan, name: string): string {
  const columns = plan.columns.map((column) => identifier(column.name)).join(", ");
  const from = `${tableName(plan.database, plan.target)} FINAL`;
  const head = `CREATE VIEW IF NOT EXISTS ${tableName(plan.database, name)}${onCluster(plan.form)}`;
  return `${head} AS SELECT ${columns} FROM ${from} WHERE ${identifier(deletedColumn)} = 0`;
}

/** One thread: a repeated insert must cut the same blocks. */
export const streamSettings = { ...insertSettings, max_threads: 1 } as const;

/** Rows of the stream, with version and deleted flag after the columns. */
export function streamInsert(plan: TablePlan, body: Buffer): Insert {
  const columns = [...plan.columns, ...ownColumns];
  return { sql: insertSql(tableName(plan.database, plan.target), columns), body: () => body, settings: streamSettings };
}

/** What the pipe adds to each row, after the source's columns. */
export const ownColumns: readonly ColumnPlan[] = [
  { name: versionColumn, input: "UInt128", type: "UInt128" },
  { name: deletedColumn, input: "UInt8", type: "UInt8" },
];

/** Rows that have a text for each of the columns, which are converted where they say how. */
export function insertSql(into: string, columns: readonly ColumnPlan[]): string {
  const names = columns.map(({ name }) => identifier(name)).join(", ");
  const values = columns.map(({ name, expression }) => expression ?? identifier(name)).join(", ");
  return `INSERT INTO ${into} (${names}) SELECT ${values} FROM input(${literal(structureOf(columns))}) FORMAT TabSeparated`;
}

/** The columns as the argument of `input`. */
export function structureOf(columns: readonly ColumnPlan[]): string {
  return columns.map((column) => `${identifier(column.name)} ${column.input}`).join(", ");
}
