/** The server that receives a moved service: what must be true of it, and the objects that a move makes there. */
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { definitionSettings, onCluster, type TableForm, tableFormOf } from "../../clickhouse/table-form.ts";
import { detectTopology } from "../../clickhouse/topology.ts";
import { AppError } from "../../lib/errors.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import type { ServiceConnection } from "../../store/services/service-connections.ts";
import type { MovedObject, MovedTable } from "../../store/services/service-move-contents.ts";
import type { CatalogueObject, MoveProblem } from "./catalogue.ts";
import { type CopyDeps, storedColumnsOf } from "./parts.ts";
import {
  distributedStatement,
  existingShardsProblem,
  isSharded,
  localName,
  shardingKeyOf,
  shardObstacles,
  tableWithRows,
} from "./shards.ts";
import { engineIn, objectStatement, tableStatements } from "./statements.ts";

export const movedDatabase = "default";

/** Throws ClickHouseError, and DESTINATION_INVALID for a cluster that cannot have tables. */
export async function formOf(client: ClickHouseClient, { cluster }: ServiceConnection): Promise<TableForm> {
  return tableFormOf(await detectTopology(client, { database: movedDatabase, cluster }));
}

/** Why the server cannot receive these objects. */
export async function targetProblems(
  { source, target, signal }: Pick<CopyDeps, "source" | "target" | "signal">,
  connection: ServiceConnection,
  objects: readonly CatalogueObject[],
  pipes: readonly Pick<Pipe, "name" | "sourceKind">[],
): Promise<MoveProblem[]> {
  const problems: MoveProblem[] = [];
  if ((connection.database ?? movedDatabase) !== movedDatabase) {
    const message = "connection.database must be default, because names without a database keep their meaning";
    problems.push({ message });
  }
  const form = await formOf(target, connection);
  problems.push(...shardObstacles(form, pipes));
  for (const object of objects.filter(({ kind }) => kind !== "function")) {
    const problem = await existingProblem({ source, target, form, signal }, object);
    if (problem !== undefined) problems.push({ object: `${object.database}.${object.name}`, message: problem });
  }
  return problems;
}

/** An empty table with the same columns may exist: its owner made it where the user may not. */
async function existingProblem(
  { source, target, form, signal }: Pick<CopyDeps, "source" | "target" | "form" | "signal">,
  object: CatalogueObject,
): Promise<string | undefined> {
  const sharded = isSharded(form, object.engine);
  if (sharded) {
    const problem = await existingShardsProblem(target, form, object, signal);
    if (problem !== undefined) return problem;
  }
  const existing = await existingEngine(target, object, signal);
  if (existing === undefined || (object.kind !== "table" && object.kind !== "materializedView")) return undefined;
  if (object.kind === "materializedView") {
    return "the server has a view of this name, which would write rows twice; drop it there";
  }
  if (!sharded && existing.replace(/^(Replicated|Shared)/, "") !== object.engine) {
    return `the server has a table of this name with the engine ${existing}; drop or rename it there`;
  }
  const { database, name } = object;
  const rows = (await target.text(`SELECT count() FROM ${tableName(database, name)}`, { signal })).trim();
  if (rows !== "0") return `the server has a table of this name with ${rows} rows; drop, rename or truncate it there`;
  const [here, there] = [await storedColumnsOf(source, object, signal), await storedColumnsOf(target, object, signal)];
  const isEqual = JSON.stringify(here) === JSON.stringify(there);
  return isEqual ? undefined : "the server has a table of this name with other columns; drop or rename it there";
}

async function existingEngine(client: ClickHouseClient, { database, name }: MovedTable, signal: AbortSignal) {
  const [row] = await client.rows<{ engine: string }>(
    `SELECT engine FROM system.tables WHERE database = ${literal(database)} AND name = ${literal(name)}`,
    { signal },
  );
  return row?.engine;
}

/** Makes everything but materialized views, and removes what the source has no longer or otherwise. */
export async function prepareTarget(deps: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
  await dropChanged(deps, objects);
  const made = new Set((await deps.contents.listObjects(deps.moveId)).map(keyOf));
  const there = await namesOn(deps);
  // What is recorded and not there could not be made by an earlier attempt.
  const isMade = (object: CatalogueObject) =>
    made.has(keyOf(object)) && (object.kind === "function" || there.has(labelOf(object)));
  const missing = objects.filter((object) => object.kind !== "materializedView" && !isMade(object));
  await createDatabases(deps, missing);
  for (const object of missing.filter(({ kind }) => kind === "table")) await createTable(deps, object);
  await createInAnyOrder(
    deps,
    missing.filter(({ kind }) => kind !== "table"),
  );
}

async function namesOn({ target, signal }: CopyDeps): Promise<ReadonlySet<string>> {
  const rows = await target.rows<MovedTable>("SELECT database, name FROM system.tables", { signal });
  return new Set(rows.map(labelOf));
}

/** Makes what is only right once all rows are there: materialized views, and the expiry of rows. */
export async function completeTarget(deps: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
  for (const object of objects.filter(({ kind }) => kind === "table")) {
    const { ttl } = tableStatements(object, deps.form);
    if (ttl === undefined) continue;
    const stored = await tableWithRows(deps.target, deps.form, object, deps.signal);
    if ((await ttlOf(deps, stored)) === ttl) continue;
    const alter = `ALTER TABLE ${tableName(stored.database, stored.name)}${onCluster(deps.form)}`;
    await run(deps, `${alter} MODIFY TTL ${ttl}`, { materialize_ttl_after_modify: 0 });
  }
  await createInAnyOrder(
    deps,
    objects.filter(({ kind }) => kind === "materializedView"),
  );
}

/** The rule of a table of the server. Its owner may have made it, or an earlier attempt. */
async function ttlOf({ target, form, signal }: CopyDeps, { database, name }: MovedTable): Promise<string | undefined> {
  const [row] = await target.rows<{ statement: string }>(
    `SELECT create_table_query AS statement FROM system.tables
     WHERE database = ${literal(database)} AND name = ${literal(name)}`,
    { signal },
  );
  return row && tableStatements({ database, name, statement: row.statement }, form).ttl;
}

/** Undoes `completeTarget`: while rows are copied, no view may write. Does nothing where it was not called. */
export async function reopenTarget(deps: CopyDeps): Promise<void> {
  const views = (await deps.contents.listObjects(deps.moveId)).filter(({ kind }) => kind === "materializedView");
  for (const view of views) await dropObject(deps, view);
}

/** Removes everything that the move has made. A table that existed is empty again. */
export async function removeFromTarget(deps: CopyDeps): Promise<void> {
  const objects = await deps.contents.listObjects(deps.moveId);
  for (const object of objects.reverse()) await dropObject(deps, object);
}

async function dropChanged(deps: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
  const now = new Map(objects.map((object) => [keyOf(object), object.statement]));
  const made = await deps.contents.listObjects(deps.moveId);
  for (const object of made.reverse()) {
    if (now.get(keyOf(object)) !== object.statement) await dropObject(deps, object);
  }
}

async function dropObject(deps: CopyDeps, object: MovedObject): Promise<void> {
  const { kind, database, name, existed } = object;
  const where = `${tableName(database, name)}${onCluster(deps.form)}`;
  const hasRows = kind === "table" && isSharded(deps.form, engineIn(object.statement));
  const stored = hasRows ? await tableWithRows(deps.target, deps.form, object, deps.signal) : object;
  const rowsWhere = `${tableName(stored.database, stored.name)}${onCluster(deps.form)}`;
  if (kind === "function") await run(deps, `DROP FUNCTION IF EXISTS ${identifier(name)}${onCluster(deps.form)}`);
  else if (kind === "dictionary") await run(deps, `DROP DICTIONARY IF EXISTS ${where}`);
  else if (existed && kind === "table") await run(deps, `TRUNCATE TABLE IF EXISTS ${rowsWhere}`, { alter_sync: 2 });
  else if (!existed) {
    await run(deps, `DROP ${kind === "table" ? "TABLE" : "VIEW"} IF EXISTS ${where} SYNC`);
    if (rowsWhere !== where) await run(deps, `DROP TABLE IF EXISTS ${rowsWhere} SYNC`);
  }
  await deps.contents.removeObject(deps.moveId, object);
}

async function createDatabases(deps: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
  const wanted = new Set(objects.filter(({ database }) => database !== "").map(({ database }) => database));
  const rows = await deps.target.rows<{ name: string }>("SELECT name FROM system.databases", { signal: deps.signal });
  for (const { name } of rows) wanted.delete(name);
  for (const name of wanted)
    await run(deps, `CREATE DATABASE IF NOT EXISTS ${identifier(name)}${onCluster(deps.form)}`);
}

async function createTable(deps: CopyDeps, object: CatalogueObject): Promise<void> {
  const existed = (await existingEngine(deps.target, object, deps.signal)) !== undefined;
  // Before the statement: a table that is made and not known would never be removed.
  await deps.contents.addObject(deps.moveId, { ...object, existed });
  if (existed) return;
  const sharded = isSharded(deps.form, object.engine);
  await run(deps, tableStatements(object, deps.form, sharded ? localName(object.name) : object.name).create);
  if (!sharded) return;
  const key = await shardingKeyOf(deps.source, object, deps.signal);
  await run(deps, distributedStatement(object, deps.form, key));
}

/** Views may need each other: those that fail are tried again after the others, until none of the rest succeeds. */
async function createInAnyOrder(deps: CopyDeps, objects: readonly CatalogueObject[]): Promise<void> {
  let rest = [...objects];
  while (rest.length > 0) {
    const failed: CatalogueObject[] = [];
    let reason: unknown;
    for (const object of rest) {
      try {
        await createObject(deps, object);
      } catch (error) {
        if (!(error instanceof ClickHouseError)) throw error;
        failed.push(object);
        reason = new AppError(
          "DESTINATION_INVALID",
          `The server refuses ${labelOf(object)}: ${error.message}`.slice(0, 500),
        );
      }
    }
    if (failed.length === rest.length) throw reason;
    rest = failed;
  }
}

async function createObject(deps: CopyDeps, object: CatalogueObject): Promise<void> {
  const { kind, database, name, statement } = object;
  const existed = kind !== "function" && (await existingEngine(deps.target, object, deps.signal)) !== undefined;
  await deps.contents.addObject(deps.moveId, { ...object, existed });
  if (existed) return;
  const sql =
    kind === "function"
      ? statement.replace(/^CREATE FUNCTION /, "CREATE FUNCTION IF NOT EXISTS ")
      : objectStatement({ database, name, statement }, deps.form);
  await run(deps, sql, { allow_materialized_view_with_bad_select: 1 });
}

async function run(
  deps: CopyDeps,
  sql: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<void> {
  await deps.check();
  const all = { ...definitionSettings(deps.form), ...settings };
  await deps.target.command(sql, { database: movedDatabase, settings: all, signal: deps.signal });
}

function keyOf({ kind, database, name }: { kind: string; database: string; name: string }): string {
  return `${kind}\0${database}\0${name}`;
}

export function labelOf({ database, name }: MovedTable): string {
  return database === "" ? name : `${database}.${name}`;
}
