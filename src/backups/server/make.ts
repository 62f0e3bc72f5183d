/**
 * Makes a backup of an external service or one in Kubernetes: its server writes the files into the bucket, Millrace
 * reads them back, adds the pipes with their positions, and stores the manifest last. The result has the form of any
 * other backup.
 */
import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { eachOf } from "../../lib/limiter.ts";
import type { Backup } from "../../store/backups/backups.ts";
import type { PipeSnapshot } from "../../store/pipes/pipe-snapshots.ts";
import type { Service } from "../../store/services/services.ts";
import {
  engineIndex,
  type IndexEntry,
  longestNumber,
  numberOf,
  parseIndex,
  tableRows,
  userFunctions,
} from "../engine-backup.ts";
import { filesFolder } from "../files/files.ts";
import { backupFolder, type Manifest, type ManifestFile, manifestOf } from "../files/manifest.ts";
import { type MakeDeps, pipesAtSnapshot, pipesFile, storeManifest } from "../make.ts";
import type { BackupStorage } from "../storage/storage.ts";
import { bucketFolder } from "./bucket-folder.ts";
import { runOperation } from "./operation.ts";
import { oneHost, planServerBackup, type ServerBackupPlan, type ServerLocation } from "./requirements.ts";

const lookMs = 50;
const parallelFiles = 6;

export type ServerMakeDeps = Omit<MakeDeps, "staging"> & { readonly to: ServerLocation };

/** The files of the result have been read completely. On failure it throws, and the caller removes what was stored. */
export async function makeServerBackup(
  deps: ServerMakeDeps,
  row: Backup,
  service: Service,
  signal: AbortSignal,
): Promise<{ manifest: Manifest; sizeBytes: number }> {
  const { storage } = deps.transfer;
  const folder = backupFolder(service.id, row.name);
  const snapshot = await takeSnapshot(deps, row, service, folder, signal);
  const read = await readBack(storage, folder, deps.onStored, signal);
  const pipes = Buffer.from(JSON.stringify(snapshot.pipes));
  await storage.putWhole(folder + filesFolder + pipesFile, pipes, signal);
  const manifest = manifestOf(row, service, {
    functions: snapshot.functions,
    tables: tableRows(read.entries, read.counts),
    counts: read.counts,
    totalBytes: read.entries.reduce((sum, entry) => sum + entry.size, 0),
    files: [...read.files, factsOf(pipesFile, pipes)],
  });
  return await storeManifest(deps.transfer, folder, manifest, signal);
}

async function takeSnapshot(
  deps: ServerMakeDeps,
  row: Backup,
  service: Service,
  folder: string,
  signal: AbortSignal,
): Promise<{ readonly pipes: PipeSnapshot[]; readonly functions: string[] }> {
  const lease = await deps.engine(signal);
  try {
    using client = new ClickHouseClient(oneHost(lease.address));
    const wanted = await deps.pipes.databasesOf(service.id);
    const plan = await planServerBackup(lease.address, deps.to, wanted, signal);
    const functions = await userFunctions(client);
    // Most of what is missing arrives before the pipes are held.
    await catchUp(client, plan, signal);
    const run = async () => {
      await catchUp(client, plan, signal);
      await runOperation(client, statementOf(plan, folder, row.id), row.id, signal);
    };
    // The server writes the first file, after its lock, only once it holds the parts of every table.
    const isTaken = async () =>
      (await deps.transfer.storage.list(folder + filesFolder, signal)).some(({ key }) => !key.endsWith("/.lock"));
    return { pipes: await pipesAtSnapshot(deps, service.id, { run, isTaken, lookMs }, signal), functions };
  } finally {
    await lease.release();
  }
}

/** The server that is backed up then has every row that a pipe has inserted on any replica. */
async function catchUp(client: ClickHouseClient, { replicated }: ServerBackupPlan, signal: AbortSignal): Promise<void> {
  for (const { database, name } of replicated) {
    await client.command(`SYSTEM SYNC REPLICA ${tableName(database, name)} LIGHTWEIGHT`, { signal });
  }
}

function statementOf({ bucket, access, databases }: ServerBackupPlan, folder: string, id: string): string {
  const subjects = databases.map((name) => `DATABASE ${identifier(name)}`).join(", ");
  return `BACKUP ${subjects} TO ${bucketFolder(bucket, access, folder + filesFolder).sql} SETTINGS id = ${literal(id)}`;
}

type ReadBack = {
  readonly entries: readonly IndexEntry[];
  readonly counts: Readonly<Record<string, number>>;
  readonly files: readonly ManifestFile[];
};

/** Reads every file that the server has written. Throws when one is missing or has another size than its list says. */
async function readBack(
  storage: BackupStorage,
  folder: string,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<ReadBack> {
  const root = folder + filesFolder;
  const sizes = new Map((await storage.list(root, signal)).map(({ key, size }) => [key.slice(root.length), size]));
  if (!sizes.has(engineIndex)) {
    throw new Error(
      `the server has not written to ${root} of the backup bucket: the url of its named collection must be the bucket of --backup-bucket with its prefix`,
    );
  }
  const entries = parseIndex(await text(await storage.read(root + engineIndex, signal)));
  for (const { storedAs, ownBytes } of entries) {
    const found = storedAs === undefined ? ownBytes : sizes.get(storedAs);
    if (found !== ownBytes) throw new Error(`${root}${storedAs} has ${found ?? "no"} bytes instead of ${ownBytes}`);
  }
  const numbers = new Map<string, number>();
  const files: ManifestFile[] = [];
  await eachOf(sizes.keys(), parallelFiles, async (path) => {
    signal.throwIfAborted();
    const { facts, number } = await readFile(storage, root, path, signal);
    files.push(facts);
    if (number !== undefined) numbers.set(path, number);
    onRead(facts.size);
  });
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries, counts: countsOf(entries, numbers), files };
}

async function readFile(storage: BackupStorage, root: string, path: string, signal: AbortSignal) {
  const digest = createHash("sha256");
  const start: Buffer[] = [];
  let size = 0;
  for await (const chunk of await storage.read(root + path, signal)) {
    digest.update(chunk as Buffer);
    if (size <= longestNumber) start.push(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  const facts = { path, stored: filesFolder + path, size, sha256: digest.digest("hex") };
  const number = size > longestNumber ? undefined : numberOf(Buffer.concat(start).toString("utf8"));
  return { facts, number };
}

/** Rows by the checksum of the file that contains their number. */
function countsOf(entries: readonly IndexEntry[], numbers: ReadonlyMap<string, number>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { storedAs, checksum } of entries) {
    const number = storedAs === undefined ? undefined : numbers.get(storedAs);
    if (number !== undefined) counts[checksum] = number;
  }
  return counts;
}

function factsOf(path: string, bytes: Buffer): ManifestFile {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { path, stored: filesFolder + path, size: bytes.length, sha256 };
}
