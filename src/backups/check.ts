/** Checks of stored backups: every file against its manifest, and a trial restore in an engine of its own. */
import { totalmem } from "node:os";
import { join } from "node:path";
import { ClickHouseClient, ClickHouseError } from "../clickhouse/client.ts";
import { spawnEngineHost } from "../engine/spawn.ts";
import { removeFolder } from "../lib/files.ts";
import { eachOf } from "../lib/limiter.ts";
import type { Backup } from "../store/backups/backups.ts";
import { type Chain, readChain, stageChain } from "./files/chain.ts";
import { DamagedFile, type FileTransfer, storedProblem } from "./files/files.ts";
import { BadManifest, backupFolder } from "./files/manifest.ts";
import { restoreIntoEmptyEngine } from "./restore-engine.ts";
import { MissingFile } from "./storage/storage.ts";

const maxProblems = 20;
const parallelFiles = 4;
const stopGraceMs = 5_000;

/**
 * Checks sizes and checksums of every file of the backup and its chain. Files of members in `trusted` are checked only
 * for existence and size, because they were read in full recently. Empty: no problem was found.
 */
export async function checkFiles(
  transfer: FileTransfer,
  row: Backup,
  trusted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await chainOrProblem(transfer, row, signal);
  if (typeof found === "string") return [found];
  const problems: string[] = [];
  for (const { folder, manifest } of found) {
    const listed = await transfer.storage.list(folder, signal);
    const sizes = new Map(listed.map((file) => [file.key, file.size]));
    await eachOf(manifest.files, parallelFiles, async (file) => {
      signal.throwIfAborted();
      const key = folder + file.stored;
      const size = sizes.get(key);
      let problem: string | undefined;
      if (size === undefined) problem = "is missing";
      else if (size !== file.size) problem = `has ${size} bytes instead of ${file.size}`;
      else if (!trusted.has(manifest.id)) problem = await storedProblem(transfer, key, file, signal);
      if (problem !== undefined) problems.push(`${key} ${problem}`);
    });
  }
  return shortened(problems.sort());
}

/**
 * Restores everything into a scratch engine in the folder, which is removed before and after, checks every table there,
 * and counts its rows. Empty: no problem was found.
 */
export async function checkDeep(
  transfer: FileTransfer,
  row: Backup,
  scratch: string,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await chainOrProblem(transfer, row, signal);
  if (typeof found === "string") return [found];
  await removeFolder(scratch);
  try {
    return shortened(await tryRestore(transfer, found, scratch, signal));
  } catch (error) {
    if (error instanceof DamagedFile) return [error.message];
    if (error instanceof ClickHouseError) return [`the trial restore failed: ${error.message}`];
    throw error;
  } finally {
    await removeFolder(scratch);
  }
}

async function tryRestore(
  transfer: FileTransfer,
  chain: Chain,
  scratch: string,
  signal: AbortSignal,
): Promise<string[]> {
  const staging = join(scratch, "staging");
  const path = await stageChain(transfer, chain, staging, { forced: false, onStaged: () => {} }, signal);
  const host = await spawnEngineHost({
    dataDir: join(scratch, "data"),
    runDir: join(scratch, "run"),
    maxMemoryBytes: Math.floor(totalmem() / 4),
    backupsAllowedPath: staging,
  });
  try {
    using client = new ClickHouseClient(host.address);
    const manifest = (chain.at(-1) as Chain[number]).manifest;
    const problems = await restoreIntoEmptyEngine(
      client,
      path,
      manifest,
      { resume: false, onProgress: () => {} },
      signal,
    );
    return [...problems, ...(await damagedTables(client, manifest.tables, signal))];
  } finally {
    await host.stop(stopGraceMs);
  }
}

/** CHECK TABLE reads every part and compares the engine's own checksums: it finds damage that precedes the backup. */
async function damagedTables(
  client: ClickHouseClient,
  tables: readonly { database: string; table: string }[],
  signal: AbortSignal,
): Promise<string[]> {
  if (tables.length === 0) return [];
  try {
    const settings = { check_query_single_value_result: 0 };
    const rows = await client.rows<{
      database: string;
      table: string;
      part_path: string;
      is_passed: number;
      message: string;
    }>("CHECK ALL TABLES", { settings, signal });
    return rows
      .filter((row) => Number(row.is_passed) !== 1)
      .map((row) => `table ${row.database}.${row.table}, part ${row.part_path}: ${row.message}`);
  } catch (error) {
    if (error instanceof ClickHouseError) return [`CHECK TABLE: ${error.message}`];
    throw error;
  }
}

async function chainOrProblem(transfer: FileTransfer, row: Backup, signal: AbortSignal): Promise<Chain | string> {
  try {
    const chain = await readChain(transfer, row.serviceId, row.name, signal);
    const own = chain.at(-1) as Chain[number];
    if (own.manifest.id !== row.id) return `${backupFolder(row.serviceId, row.name)} holds another backup`;
    return chain;
  } catch (error) {
    if (error instanceof MissingFile || error instanceof BadManifest) return error.message;
    throw error;
  }
}

function shortened(problems: string[]): string[] {
  if (problems.length <= maxProblems) return problems;
  return [...problems.slice(0, maxProblems), `... and ${problems.length - maxProblems} more`];
}
