/** Carries out restores: everything into a new service, or one database or table into a running service. */

import { createReadStream } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type ClickHouseAddress, ClickHouseClient } from "../clickhouse/client.ts";
import { identifier, literal, tableName } from "../clickhouse/sql.ts";
import { AppError } from "../lib/errors.ts";
import { removeFolder } from "../lib/files.ts";
import type { Backup } from "../store/backups/backups.ts";
import type { PipesChoice, Restore } from "../store/backups/restores.ts";
import {
  type PipeSnapshot,
  type PipeSnapshots,
  pipeSnapshotSchema,
  type RestoredPipe,
} from "../store/pipes/pipe-snapshots.ts";
import { createFunctions, type EngineFolder, localFolder, restoreFrom } from "./engine-backup.ts";
import { type Chain, readChain, stageChain } from "./files/chain.ts";
import { DamagedFile, type FileTransfer } from "./files/files.ts";
import { BadManifest, type Manifest, storedBytes } from "./files/manifest.ts";
import { pipesFile } from "./make.ts";
import { refusalOf } from "./positions.ts";
import { restoreIntoEmptyEngine, withProgress } from "./restore-engine.ts";
import { MissingFile } from "./storage/storage.ts";

export type RestoreDeps = {
  readonly restore: Restore;
  readonly backup: Backup;
  readonly transfer: FileTransfer;
  readonly pipes: PipeSnapshots;
  /** Below the allowed path of the restoring engine. Removed afterwards. */
  readonly staging: string;
  readonly address: ClickHouseAddress;
  readonly onProgress: (doneBytes: number, totalBytes: number) => void;
};

/**
 * Restores everything into a new and empty engine, and writes the pipes of the backup into the service. Returns notes
 * for the operator. Throws an AppError with the reason; the engine's data must then be discarded.
 */
export async function restoreService(deps: RestoreDeps, signal: AbortSignal): Promise<string[]> {
  const { restore } = deps;
  return await withStaged(deps, signal, async ({ client, path, chain, done, report }) => {
    const { manifest } = chain.at(-1) as Chain[number];
    const options = { resume: true, onProgress: (bytes: number) => report(done + bytes) };
    const problems = await restoreIntoEmptyEngine(client, path, manifest, options, signal);
    if (problems.length > 0 && !restore.forced) {
      throw new AppError("BACKUP_UNUSABLE", `The restored data is not what was backed up: ${problems.join("; ")}`);
    }
    return [...problems, ...(await restorePipes(deps, await readPipes(path)))];
  });
}

/** Restores one database or table of a backup under another, unused name: all of it or nothing. */
export async function restorePart(deps: RestoreDeps, signal: AbortSignal): Promise<string[]> {
  const { restore } = deps;
  return await withStaged(deps, signal, async ({ client, path, chain, done, report }) => {
    const { manifest } = chain.at(-1) as Chain[number];
    const onProgress = (bytes: number) => report(done + bytes);
    await restoreStagedPart({ client, folder: localFolder(path), restore, onProgress }, manifest, signal);
    return [];
  });
}

type StagedPart = {
  readonly client: ClickHouseClient;
  /** From where the engine reads the backup. */
  readonly folder: EngineFolder;
  readonly restore: Restore;
  readonly onProgress: (doneBytes: number) => void;
};

export async function restoreStagedPart(part: StagedPart, manifest: Manifest, signal: AbortSignal): Promise<void> {
  tablesOfPart(manifest, part.restore);
  await createFunctions(part.client, manifest.functions, signal);
  if (part.restore.scope === "database") await restoreDatabase(part, signal);
  else await restoreTable(part, signal);
}

/** Removes what a killed partial restore may have left in a running engine. */
export async function removePart(address: ClickHouseAddress, restore: Restore): Promise<void> {
  using client = new ClickHouseClient(address);
  const target = restore.targetDatabase as string;
  if (restore.scope === "database") await dropOurs(client, target, restore);
  else await client.command(`DROP TABLE IF EXISTS ${tableName(target, halfDone(restore))}`);
}

type Staged = {
  readonly client: ClickHouseClient;
  readonly path: string;
  readonly chain: Chain;
  /** Bytes fetched so far; the engine's own bytes are added. */
  readonly done: number;
  readonly report: (doneBytes: number) => void;
};

async function withStaged(
  deps: RestoreDeps,
  signal: AbortSignal,
  body: (staged: Staged) => Promise<string[]>,
): Promise<string[]> {
  const { restore, backup } = deps;
  const folder = join(deps.staging, `restore-${restore.id}`);
  await removeFolder(folder);
  try {
    using client = new ClickHouseClient(deps.address);
    const chain = await readChain(deps.transfer, backup.serviceId, backup.name, signal);
    const stored = chain.reduce((sum, { manifest }) => sum + storedBytes(manifest), 0);
    const total = stored + (chain.at(-1) as Chain[number]).manifest.totalBytes;
    let fetched = 0;
    const onStaged = (bytes: number) => {
      fetched += bytes;
      deps.onProgress(fetched, total);
    };
    const path = await stageChain(deps.transfer, chain, folder, { forced: restore.forced, onStaged }, signal);
    const report = (doneBytes: number) => deps.onProgress(Math.min(doneBytes, total), total);
    return await body({ client, path, chain, done: stored, report });
  } catch (error) {
    throw asUnusable(error);
  } finally {
    await removeFolder(folder);
  }
}

/** BACKUP_UNUSABLE for an error that says that the backup is damaged; any other error as it is. */
export function asUnusable(error: unknown): unknown {
  const isDamage = error instanceof DamagedFile || error instanceof MissingFile || error instanceof BadManifest;
  return isDamage
    ? new AppError("BACKUP_UNUSABLE", `The backup is damaged: ${error.message}`, { cause: error })
    : error;
}

/** The parts of a restore that say what it restores and where. */
export type RestoredPart = Pick<Restore, "sourceDatabase" | "sourceTable" | "targetDatabase" | "targetTable">;

/** The tables that the restore of a database or table restores. Throws NOT_FOUND when the backup holds none. */
export function tablesOfPart(manifest: Manifest, part: RestoredPart): Manifest["tables"] {
  const { sourceDatabase: database, sourceTable: table } = part;
  const found = manifest.tables.filter(
    (candidate) => candidate.database === database && (table === null || candidate.table === table),
  );
  if (found.length > 0) return found;
  const [path, name] = table === null ? ["database", database] : ["table", `${database}.${table}`];
  const message = `The backup holds no ${path} ${name}.`;
  throw new AppError("NOT_FOUND", message, { issues: [{ path, message }] });
}

/** The database is marked as ours from its creation, by its comment, so that the cleanup after a kill finds it. */
async function restoreDatabase(
  { client, folder, restore, onProgress }: StagedPart,
  signal: AbortSignal,
): Promise<void> {
  const target = restore.targetDatabase as string;
  await dropOurs(client, target, restore);
  await requireUnused(client, restore);
  await client.command(`CREATE DATABASE ${identifier(target)} COMMENT ${literal(comment(restore))}`, { signal });
  const what = { kind: "database", from: restore.sourceDatabase as string, to: target } as const;
  const operationId = `${restore.id}-${Date.now()}`;
  try {
    await withProgress(client, operationId, onProgress, () =>
      restoreFrom(client, folder, what, { operationId }, signal),
    );
  } catch (error) {
    await dropOurs(client, target, restore).catch(() => {});
    throw error;
  }
  await client.command(`ALTER DATABASE ${identifier(target)} MODIFY COMMENT ''`, { signal });
}

/** Restored under a temporary name first, then renamed: the engine refuses the new name if it is taken meanwhile. */
async function restoreTable({ client, folder, restore, onProgress }: StagedPart, signal: AbortSignal): Promise<void> {
  const database = restore.targetDatabase as string;
  const table = restore.targetTable as string;
  await requireUnused(client, restore);
  await client.command(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`, { signal });
  const half = [database, halfDone(restore)] as const;
  const drop = () => client.command(`DROP TABLE IF EXISTS ${tableName(...half)}`);
  await drop();
  const from = [restore.sourceDatabase as string, restore.sourceTable as string] as const;
  const operationId = `${restore.id}-${Date.now()}`;
  try {
    await withProgress(client, operationId, onProgress, () =>
      restoreFrom(client, folder, { kind: "table", from, to: half }, { operationId }, signal),
    );
    await client.command(`RENAME TABLE ${tableName(...half)} TO ${tableName(database, table)}`, { signal });
  } catch (error) {
    await drop().catch(() => {});
    throw error;
  }
}

/** Throws CONFLICT when the name of the restored database or table is taken. */
export async function requireUnused(client: ClickHouseClient, part: RestoredPart): Promise<void> {
  const database = part.targetDatabase as string;
  const { targetTable: table } = part;
  const [kind, name, shown] =
    table === null
      ? (["DATABASE", identifier(database), `database ${database}`] as const)
      : (["TABLE", tableName(database, table), `table ${database}.${table}`] as const);
  const answer = await client.text(`EXISTS ${kind} ${name}`);
  if (answer.trim() === "1") throw new AppError("CONFLICT", `The ${shown} already exists in the service.`);
}

async function dropOurs(client: ClickHouseClient, database: string, restore: Restore): Promise<void> {
  const [row] = await client.rows<{ comment: string }>(
    `SELECT comment FROM system.databases WHERE name = ${literal(database)}`,
  );
  if (row?.comment === comment(restore)) await client.command(`DROP DATABASE ${identifier(database)}`);
}

function comment(restore: Restore): string {
  return `being restored by Millrace (${restore.id})`;
}

function halfDone(restore: Restore): string {
  return `_restore_${restore.id.replaceAll("-", "")}`;
}

export async function readPipes(path: string): Promise<PipeSnapshot[]> {
  const bytes = await buffer(createReadStream(join(path, pipesFile)));
  return pipeSnapshotSchema.array().parse(JSON.parse(bytes.toString("utf8")));
}

async function restorePipes({ pipes, restore }: RestoreDeps, snapshots: readonly PipeSnapshot[]) {
  if (restore.scope === "rebuild") {
    await pipes.rewind(restore.serviceId, snapshots);
    return snapshots.flatMap((pipe) => {
      const against = refusalOf(pipe);
      return against === undefined ? [] : [`Pipe ${pipe.name}: ${against}`];
    });
  }
  if (restore.pipes === "none") return [];
  const made = await pipes.recreate(restore.serviceId, snapshots, restore.pipes === "running", refusalOf);
  return made.map((pipe) => noteOf(pipe, restore.pipes));
}

/** The remark about a recreated pipe, true before the restore and after it. */
export function noteOf({ name, against }: Pick<RestoredPipe, "name" | "against">, pipes: PipesChoice): string {
  if (against !== undefined) return `Pipe ${name} stays stopped. ${against}`;
  return `Pipe ${name} ${pipes === "running" ? "runs on" : "can be started"} from its position in the backup.`;
}
