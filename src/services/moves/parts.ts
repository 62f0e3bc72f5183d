/**
 * Copies the rows of a table part by part. Nothing merges meanwhile: a part at the source keeps its rows and its name
 * until a mutation replaces it, and then its whole partition is copied again.
 */

import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { onCluster, type TableForm } from "../../clickhouse/table-form.ts";
import type {
  MovedPart,
  MovedTable,
  MovePart,
  ServiceMoveContents,
} from "../../store/services/service-move-contents.ts";
import { tableWithRows } from "./shards.ts";

/** Bytes of parts, uncompressed, that one statement copies; a larger part has a statement of its own. */
const unitBytes = 256 * 2 ** 20;
const unitParts = 200;

export type CopyDeps = {
  readonly moveId: string;
  readonly contents: ServiceMoveContents;
  readonly source: ClickHouseClient;
  readonly target: ClickHouseClient;
  readonly form: TableForm;
  readonly signal: AbortSignal;
  /** Called between statements; throws when the move is to stop. */
  readonly check: () => Promise<void>;
};

/** Copies what is not on the server yet; returns the number of bytes. Throws ClickHouseError and connection errors. */
export async function copyParts(deps: CopyDeps, table: MovedTable): Promise<number> {
  const active = await activeParts(deps.source, table, deps.signal);
  await dropStale(deps, table, active);
  const known = await deps.contents.listParts(deps.moveId, table);
  const columns = await storedColumnsOf(deps.source, table, deps.signal);
  let bytes = 0;
  for (const [unit, parts] of openUnits(known)) bytes += await copyUnit(deps, table, columns, unit, parts);
  const has = new Set(known.map(({ part }) => part));
  for (const parts of unitsOf(active.filter(({ part }) => !has.has(part)))) {
    await deps.check();
    const unit = await deps.contents.beginUnit(deps.moveId, table, parts);
    bytes += await copyUnit(deps, table, columns, unit, parts);
  }
  return bytes;
}

/** In the order of their insertion: the last of equal rows stays the last. */
export async function activeParts(
  source: ClickHouseClient,
  { database, name }: MovedTable,
  signal: AbortSignal,
): Promise<MovePart[]> {
  const rows = await source.rows<{ partition: string; part: string; rows: string; bytes: string }>(
    `SELECT partition_id AS partition, name AS part, rows, data_uncompressed_bytes AS bytes FROM system.parts
     WHERE active AND database = ${literal(database)} AND table = ${literal(name)}
     ORDER BY partition_id, min_block_number`,
    { signal },
  );
  return rows.map((row) => ({ ...row, rows: Number(row.rows), bytes: Number(row.bytes) }));
}

/** Removes the rows of a partition from the server, so that it is copied again. */
export async function dropPartition(deps: CopyDeps, table: MovedTable, partition: string): Promise<void> {
  const { database, name } = await tableWithRows(deps.target, deps.form, table, deps.signal);
  const alter = `ALTER TABLE ${tableName(database, name)}${onCluster(deps.form)}`;
  await deps.target.command(`${alter} DROP PARTITION ID ${literal(partition)}`, {
    signal: deps.signal,
    settings: { alter_sync: 2, replication_wait_for_inactive_replica_timeout: 30 },
  });
  await deps.contents.forgetPartition(deps.moveId, table, partition);
}

/** Columns that have values of their own. */
export async function storedColumnsOf(
  client: ClickHouseClient,
  { database, name }: MovedTable,
  signal: AbortSignal,
): Promise<{ name: string; type: string }[]> {
  return await client.rows<{ name: string; type: string }>(
    `SELECT name, type FROM system.columns WHERE database = ${literal(database)} AND table = ${literal(name)}
       AND default_kind IN ('', 'DEFAULT', 'MATERIALIZED') ORDER BY position`,
    { signal },
  );
}

/** A part that is gone has been merged or changed: its partition begins again. */
async function dropStale(deps: CopyDeps, table: MovedTable, active: readonly MovePart[]): Promise<void> {
  const present = new Set(active.map(({ part }) => part));
  const known = await deps.contents.listParts(deps.moveId, table);
  const stale = new Set(known.filter(({ part }) => !present.has(part)).map(({ partition }) => partition));
  for (const partition of stale) await dropPartition(deps, table, partition);
}

/** Units that were begun and not confirmed. */
function openUnits(known: readonly MovedPart[]): ReadonlyMap<string, MovePart[]> {
  const open = new Map<string, MovePart[]>();
  for (const { isCopied, unit, ...part } of known) {
    if (isCopied) continue;
    const parts = open.get(unit) ?? [];
    parts.push(part);
    open.set(unit, parts);
  }
  return open;
}

/** Parts of one partition each, in order. */
export function unitsOf(parts: readonly MovePart[]): MovePart[][] {
  const units: MovePart[][] = [];
  let size = 0;
  for (const part of parts) {
    const unit = units.at(-1);
    const fits = unit?.[0]?.partition === part.partition && size + part.bytes <= unitBytes && unit.length < unitParts;
    if (unit !== undefined && fits) unit.push(part);
    else units.push([part]);
    size = unit !== undefined && fits ? size + part.bytes : part.bytes;
  }
  return units;
}

/**
 * One thread reads the parts in one order, so that a repeated statement has the same blocks under the same tokens and
 * the server writes each once.
 */
async function copyUnit(
  deps: CopyDeps,
  { database, name }: MovedTable,
  columns: readonly { name: string }[],
  unit: string,
  parts: readonly MovePart[],
): Promise<number> {
  const list = columns.map((column) => identifier(column.name)).join(", ");
  const names = parts.map(({ part }) => literal(part)).join(", ");
  const { source, target, signal } = deps;
  const rows = await source.stream(
    `SELECT ${list} FROM ${tableName(database, name)} WHERE _part IN (${names})
     FORMAT Native`,
    { signal, settings: { ...readSettings, log_queries: 0 } },
  );
  const body = new PassThrough();
  const piped = pipeline(rows, body);
  // The failure of the insert is the one to report.
  piped.catch(() => {});
  await target.command(`INSERT INTO ${tableName(database, name)} (${list}) FORMAT Native`, {
    body,
    signal,
    settings: {
      ...insertSettings,
      ...(deps.form.shards > 1 ? { distributed_foreground_insert: 1 } : {}),
      insert_deduplication_token: `move ${unit}`,
    },
  });
  await piped;
  await deps.contents.confirmUnit(deps.moveId, unit);
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

const readSettings = { max_threads: 1, max_execution_time: 0 };
const insertSettings = {
  async_insert: 0,
  insert_deduplicate: 1,
  insert_allow_materialized_columns: 1,
  // Rows arrive as they are; the engine combines them when it merges.
  optimize_on_insert: 0,
  max_insert_threads: 1,
  max_execution_time: 0,
  max_partitions_per_insert_block: 0,
};
