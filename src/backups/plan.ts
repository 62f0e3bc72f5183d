/** What a restore would do, before it is begun: the same conditions and sentences as in the restore itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClickHouseAddress, ClickHouseClient } from "../clickhouse/client.ts";
import { AppError } from "../lib/errors.ts";
import type { Backup } from "../store/backups/backups.ts";
import type { NewRestore, PipesChoice } from "../store/backups/restores.ts";
import type { PipeSnapshot, PipeSnapshots } from "../store/pipes/pipe-snapshots.ts";
import { type Chain, readChain } from "./files/chain.ts";
import { type FileTransfer, fetchFile } from "./files/files.ts";
import { type Manifest, storedBytes } from "./files/manifest.ts";
import { pipesFile } from "./make.ts";
import { refusalOf } from "./positions.ts";
import { assertRestorable } from "./restorable.ts";
import { asUnusable, noteOf, type RestoredPart, readPipes, requireUnused, tablesOfPart } from "./restore.ts";

export type PlannedTable = {
  readonly database: string;
  readonly table: string;
  readonly rows: number | null;
  readonly targetDatabase: string;
  readonly targetTable: string;
};

export type PlannedPipe = {
  readonly name: string;
  readonly effect: "recreatedRunning" | "recreatedStopped" | "omitted";
  /** The note that the restore writes about it; absent for an omitted pipe. */
  readonly note: string | undefined;
};

export type RestorePlan = {
  /** Why the restore would be refused or fail, as far as that can be known. */
  readonly problems: readonly string[];
  /** False: the service does not run, so that it is unknown whether the target exists. */
  readonly targetChecked: boolean;
  readonly tables: readonly PlannedTable[];
  readonly fetchedBytes: number;
  readonly restoredBytes: number;
  /** Pipes of the backup. */
  readonly pipes: readonly PlannedPipe[];
};

export type PlanDeps = {
  readonly transfer: FileTransfer;
  readonly pipes: PipeSnapshots;
  /** Engine of the receiving service; undefined when it does not run or is to be created. */
  readonly address: ClickHouseAddress | undefined;
};

/**
 * Reads the manifests and the pipes of the backup. Throws BACKUP_UNUSABLE when they cannot be read, and NOT_FOUND when
 * the backup does not hold what is to be restored, and CONFLICT for a backup that has failed or is not finished.
 */
export async function planRestore(
  deps: PlanDeps,
  restore: Pick<NewRestore, "scope" | "forced" | "pipes"> & Partial<RestoredPart>,
  backup: Backup,
  signal: AbortSignal,
): Promise<RestorePlan> {
  // Its manifest may be missing, which does not mean that it is damaged.
  if (backup.status !== "done") assertRestorable(backup, restore.forced);
  try {
    const chain = await readChain(deps.transfer, backup.serviceId, backup.name, signal);
    const { folder, manifest } = chain.at(-1) as Chain[number];
    const part = restore.scope === "service" ? undefined : partOf(restore);
    const problems = [await problemOf(() => assertRestorable(backup, restore.forced))];
    const { address } = deps;
    if (part !== undefined && address !== undefined) {
      using client = new ClickHouseClient(address);
      problems.push(await problemOf(() => requireUnused(client, part)));
    }
    const snapshots = part === undefined ? await pipesOf(deps, folder, manifest, signal) : [];
    return {
      problems: problems.filter((problem) => problem !== undefined),
      targetChecked: part === undefined || address !== undefined,
      tables: part === undefined ? manifest.tables.map((table) => planned(table)) : partTables(manifest, part),
      fetchedBytes: chain.reduce((sum, member) => sum + storedBytes(member.manifest), 0),
      restoredBytes: manifest.totalBytes,
      pipes: snapshots.map((pipe) => plannedPipe(pipe, restore.pipes, deps.pipes)),
    };
  } catch (error) {
    throw asUnusable(error);
  }
}

function partOf({ sourceDatabase, sourceTable, targetDatabase, targetTable }: Partial<RestoredPart>): RestoredPart {
  return {
    sourceDatabase: sourceDatabase ?? null,
    sourceTable: sourceTable ?? null,
    targetDatabase: targetDatabase ?? null,
    targetTable: targetTable ?? null,
  };
}

function partTables(manifest: Manifest, part: RestoredPart): PlannedTable[] {
  return tablesOfPart(manifest, part).map((table) => planned(table, part));
}

function planned({ database, table, rows }: Manifest["tables"][number], part?: RestoredPart): PlannedTable {
  const targetDatabase = part?.targetDatabase ?? database;
  return { database, table, rows, targetDatabase, targetTable: part?.targetTable ?? table };
}

async function problemOf(check: () => void | Promise<void>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

function plannedPipe(snapshot: PipeSnapshot, choice: PipesChoice, pipes: PipeSnapshots): PlannedPipe {
  const { name } = snapshot;
  if (choice === "none") return { name, effect: "omitted", note: undefined };
  const against = pipes.against(snapshot, refusalOf);
  const runs = choice === "running" && against === undefined;
  return { name, effect: runs ? "recreatedRunning" : "recreatedStopped", note: noteOf({ name, against }, choice) };
}

/** The captured pipes, from the one file of the backup that holds them. */
async function pipesOf(
  deps: PlanDeps,
  folder: string,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<PipeSnapshot[]> {
  const file = manifest.files.find(({ path }) => path === pipesFile);
  if (file === undefined) return [];
  const target = await mkdtemp(join(tmpdir(), "millrace-plan-"));
  try {
    await fetchFile(deps.transfer, folder, manifest, file, join(target, pipesFile), signal);
    return await readPipes(target);
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}
