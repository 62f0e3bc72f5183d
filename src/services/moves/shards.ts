/**
 * Tables of a moved service on a cluster of several shards. The rows of a table are in `<table>_local` on every shard,
 * and the table itself is a `Distributed` one, as pipes make them (`docs/clusters.md`).
 */
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { distributedProblem, spreadOf } from "../../clickhouse/distributed.ts";
import { tokenize } from "../../clickhouse/lexer.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { onCluster, type TableForm } from "../../clickhouse/table-form.ts";
import { kindOf } from "../../sources/contract/registry.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import type { MovedTable } from "../../store/services/service-move-contents.ts";
import type { CatalogueObject, MoveProblem } from "./catalogue.ts";

/** True for a table that becomes two. One with the engine `Null` stores nothing and is on every shard. */
export function isSharded({ shards }: TableForm, engine: string): boolean {
  return shards > 1 && engine.endsWith("MergeTree");
}

/** The name of the table that a move makes for the rows. */
export function localName(name: string): string {
  return `${name}_local`;
}

/** The table over all shards. It has the columns of the one with the rows. */
export function distributedStatement({ database, name }: MovedTable, form: TableForm, key: string): string {
  const local = localName(name);
  const spread = [form.cluster ?? "", database, local].map(literal).join(", ");
  return `CREATE TABLE IF NOT EXISTS ${tableName(database, name)}${onCluster(form)} AS ${tableName(database, local)} ENGINE = Distributed(${spread}, ${key})`;
}

/** Objects that several shards can have, and those that they cannot. */
export function forShards(
  { shards }: TableForm,
  objects: readonly CatalogueObject[],
): { readonly objects: readonly CatalogueObject[]; readonly problems: readonly MoveProblem[] } {
  if (shards === 1) return { objects, problems: [] };
  const names = new Set(objects.map(({ database, name }) => `${database}.${name}`));
  const problems = objects.flatMap((object) => {
    const message = shardProblem(object, names);
    return message === undefined ? [] : [{ object: `${object.database}.${object.name}`, message }];
  });
  const refused = new Set(problems.map(({ object }) => object));
  return { objects: objects.filter(({ database, name }) => !refused.has(`${database}.${name}`)), problems };
}

function shardProblem(object: CatalogueObject, names: ReadonlySet<string>): string | undefined {
  const { kind, database, name, engine, sortingKey } = object;
  if (kind === "materializedView") {
    return `rows that the view writes would be on the shard of their source, whatever the sharding key of its target; leave it behind, and create it on the server between tables named ..._local`;
  }
  if (kind !== "table" || engine === "Null") return undefined;
  if (engine !== "MergeTree" && sortingKey === "") {
    return `the engine ${engine} combines all rows into one without a sorting key, which shards cannot; leave it behind`;
  }
  if (!names.has(`${database}.${localName(name)}`)) return undefined;
  return `its rows would be in ${localName(name)}, which is another table of the service; rename one of them`;
}

/** Why the service itself cannot be on several shards. */
export function shardObstacles(form: TableForm, pipes: readonly Pick<Pipe, "name" | "sourceKind">[]): MoveProblem[] {
  if (form.shards === 1) return [];
  const obstacles = pipes
    .filter(({ sourceKind }) => kindOf(sourceKind).changesRows === true)
    .map(({ name }) => ({
      message: `the pipe "${name}" changes and deletes rows of its tables, which must be on one shard, and the cluster ${form.cluster} has ${form.shards}; name a cluster of one shard, or delete the pipe`,
    }));
  if (form.kind !== "database") return obstacles;
  const message = `the Replicated database of the server has ${form.shards} shards, whose partitions no statement drops together; name a database of another engine and connection.cluster`;
  return [{ message }, ...obstacles];
}

/**
 * The sharding key of a table, which depends on the values of a row alone. Engines that combine rows of one sorting key
 * need them on one shard; otherwise all columns spread rows best.
 */
export async function shardingKeyOf(
  source: ClickHouseClient,
  { database, name, engine, sortingKey }: CatalogueObject,
  signal: AbortSignal,
): Promise<string> {
  if (engine !== "MergeTree") return `cityHash64(${sortingKey})`;
  const rows = await source.rows<{ name: string }>(
    `SELECT name FROM system.columns WHERE database = ${literal(database)} AND table = ${literal(name)}
       AND default_kind IN ('', 'DEFAULT') AND NOT match(type, '\\b(JSON|Object|Dynamic|Variant|AggregateFunction)\\b')
     ORDER BY position`,
    { signal },
  );
  return rows.length === 0 ? "0" : `cityHash64(${rows.map((row) => identifier(row.name)).join(", ")})`;
}

/** The table that has the rows of a table on each shard; the table itself on a single one. */
export async function tableWithRows(
  target: ClickHouseClient,
  { shards }: TableForm,
  table: MovedTable,
  signal: AbortSignal,
): Promise<MovedTable> {
  if (shards === 1) return table;
  const { engine, full } = (await engineOf(target, table, signal)) ?? { engine: "Distributed", full: "" };
  if (engine !== "Distributed") return table;
  const spread = spreadOf(full);
  return spread === undefined
    ? { database: table.database, name: localName(table.name) }
    : { database: spread.database, name: spread.table };
}

/** Why a table that the server has cannot receive the rows; undefined when it can. */
export async function existingShardsProblem(
  target: ClickHouseClient,
  form: TableForm,
  object: CatalogueObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { database, name } = object;
  const existing = await engineOf(target, object, signal);
  if (existing === undefined) {
    const local = { database, name: localName(name) };
    const isTaken = (await engineOf(target, local, signal)) !== undefined;
    return isTaken ? `the server has a table ${local.name}; drop or rename it there` : undefined;
  }
  if (existing.engine !== "Distributed") {
    return `the server has a table of this name with the engine ${existing.engine}; drop it, or make it a Distributed one`;
  }
  const spread = spreadOf(existing.full);
  if (spread === undefined || spread.cluster !== form.cluster) {
    return `the server has a table of this name over another cluster than ${form.cluster}; drop or rename it there`;
  }
  const problem = await distributedProblem(target, { database, name, spreads: spread });
  if (problem !== undefined) return problem;
  const local = await engineOf(target, { database: spread.database, name: spread.table }, signal);
  if (local?.engine.replace(/^(Replicated|Shared)/, "") !== object.engine) {
    return `the server's table ${spread.database}.${spread.table} has the engine ${local?.engine ?? "of no table"} instead of ${object.engine}; drop or recreate it there`;
  }
  return await keyProblem(target, object, spread.key ?? "", signal);
}

/** Rows of one sorting key must be on one shard, if the engine combines them. */
async function keyProblem(
  target: ClickHouseClient,
  { database, name, engine, sortingKey }: CatalogueObject,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (engine === "MergeTree") return undefined;
  const rows = await target.rows<{ name: string }>(
    `SELECT name FROM system.columns WHERE database = ${literal(database)} AND table = ${literal(name)}`,
    { signal },
  );
  const columns = new Set(rows.map((row) => row.name));
  const sorted = new Set(tokenize(sortingKey).map(({ value }) => value));
  const other = tokenize(key).find(({ value }) => columns.has(value) && !sorted.has(value));
  if (other === undefined) return undefined;
  return `the sharding key of the server's table contains ${other.value}, which is not in the sorting key: rows that ${engine} combines would be on several shards; recreate it with cityHash64(${sortingKey})`;
}

async function engineOf(client: ClickHouseClient, { database, name }: MovedTable, signal: AbortSignal) {
  const [row] = await client.rows<{ engine: string; full: string }>(
    `SELECT engine, engine_full AS full FROM system.tables
     WHERE database = ${literal(database)} AND name = ${literal(name)}`,
    { signal },
  );
  return row;
}
