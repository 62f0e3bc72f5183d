/**
 * Makes one backup: takes a snapshot with the engine into the staging folder, stores every file, and writes the
 * manifest last. On failure it throws, and the caller removes what was stored.
 */
import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ClickHouseClient } from "../clickhouse/client.ts";
import type { EngineLease } from "../clickhouse/lease.ts";
import type { Backup } from "../store/backups/backups.ts";
import type { Ledger } from "../store/pipes/ledger.ts";
import type { PipeSnapshot, PipeSnapshots } from "../store/pipes/pipe-snapshots.ts";
import type { Service } from "../store/services/services.ts";
import {
  backupAll,
  engineIndex,
  numbersIn,
  readIndex,
  snapshotTaken,
  tableRows,
  userFunctions,
} from "./engine-backup.ts";
import { type FileTransfer, fetchFile, storeFolder } from "./files/files.ts";
import {
  backupFolder,
  encodeManifest,
  type Manifest,
  manifestName,
  manifestOf,
  storedBytes,
} from "./files/manifest.ts";
import { withPositions } from "./positions.ts";

/** Stored beside the engine's own files: the pipes with their positions. */
export const pipesFile = "millrace/pipes.json";
export type MakeDeps = {
  readonly transfer: FileTransfer;
  readonly ledger: Ledger;
  readonly pipes: PipeSnapshots;
  /** An empty folder below the engine's allowed path. */
  readonly staging: string;
  readonly engine: (signal: AbortSignal) => Promise<EngineLease>;
  readonly onStored: (bytes: number) => void;
};

export async function makeBackup(
  deps: MakeDeps,
  row: Backup,
  service: Service,
  base: Manifest | undefined,
  signal: AbortSignal,
): Promise<{ manifest: Manifest; sizeBytes: number }> {
  const { transfer } = deps;
  const target = join(deps.staging, "backup");
  const snapshot = await takeSnapshot(deps, row, service, base, target, signal);
  const entries = await readIndex(target);
  const counts = { ...base?.counts, ...(await numbersIn(target, entries)) };
  mkdirSync(join(target, "millrace"), { recursive: true, mode: 0o700 });
  await writeFile(join(target, pipesFile), JSON.stringify(snapshot.pipes), { mode: 0o600 });
  const folder = backupFolder(service.id, row.name);
  const files = await storeFolder(transfer, target, { folder, backupId: row.id }, deps.onStored, signal);
  const contents = {
    functions: snapshot.functions,
    tables: tableRows(entries, counts),
    counts,
    totalBytes: entries.reduce((sum, entry) => sum + entry.size, 0),
    files,
  };
  return await storeManifest(transfer, folder, manifestOf(row, service, contents, base), signal);
}

/** What is stored becomes a backup with its manifest. */
export async function storeManifest(
  { storage, encryptionKey }: FileTransfer,
  folder: string,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<{ manifest: Manifest; sizeBytes: number }> {
  const bytes = encodeManifest(manifest, encryptionKey);
  await storage.putWhole(folder + manifestName, bytes, signal);
  return { manifest, sizeBytes: storedBytes(manifest) + bytes.length };
}

type Snapshot = { readonly pipes: PipeSnapshot[]; readonly functions: string[] };

/** Every step that needs the engine, which is released before the files are stored. */
async function takeSnapshot(
  deps: MakeDeps,
  row: Backup,
  service: Service,
  base: Manifest | undefined,
  target: string,
  signal: AbortSignal,
): Promise<Snapshot> {
  const basePath = base && (await stageBase(deps, base, service.id, signal));
  const lease = await deps.engine(signal);
  try {
    using client = new ClickHouseClient(lease.address);
    const functions = await userFunctions(client);
    const run = () => backupAll(client, { path: target, basePath, operationId: row.id }, signal);
    const snapshot = { run, isTaken: () => snapshotTaken(target), lookMs: 5 };
    return { pipes: await pipesAtSnapshot(deps, service.id, snapshot, signal), functions };
  } finally {
    await lease.release();
  }
}

/** To find changes, the engine needs only the base's list of files. */
async function stageBase(deps: MakeDeps, base: Manifest, serviceId: string, signal: AbortSignal): Promise<string> {
  const index = base.files.find((file) => file.path === engineIndex);
  if (index === undefined) throw new Error(`backup ${base.name} has no ${engineIndex}`);
  const path = join(deps.staging, "base");
  await fetchFile(deps.transfer, backupFolder(serviceId, base.name), base, index, join(path, engineIndex), signal);
  return path;
}

/** `run` resolves when the backup is complete, and `isTaken` to true once its tables are chosen. */
export type TableSnapshot = {
  readonly run: () => Promise<void>;
  readonly isTaken: () => Promise<boolean>;
  readonly lookMs: number;
};

/** Makes the snapshot; returns the pipes with their positions at it. They continue as soon as it is taken. */
export async function pipesAtSnapshot(
  deps: Pick<MakeDeps, "ledger" | "pipes">,
  serviceId: string,
  { run, isTaken, lookMs }: TableSnapshot,
  signal: AbortSignal,
): Promise<PipeSnapshot[]> {
  const snapshot = async (taken: () => void) => {
    let isOver = false;
    const running = run().finally(() => {
      isOver = true;
    });
    const tell = async () => {
      while (!isOver && !(await isTaken())) await delay(lookMs);
      taken();
    };
    await Promise.all([running, tell()]);
  };
  return await withPositions(deps, serviceId, snapshot, signal);
}
