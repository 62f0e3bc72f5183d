/**
 * Rebuilds a working installation from the backup location alone: the metadata, the catalogue, and for every service
 * its newest whole backup, which is restored when it starts.
 */
import { join } from "node:path";
import { makeFolder } from "../lib/make-folder.ts";
import { OrganizationStore } from "../store/access/organizations.ts";
import { BackupStore } from "../store/backups/backups.ts";
import { RestoreStore } from "../store/backups/restores.ts";
import { type Database, openDatabase } from "../store/database/database.ts";
import { Sealer } from "../store/database/secrets.ts";
import { PipeSnapshots } from "../store/pipes/pipe-snapshots.ts";
import { ServiceStore } from "../store/services/services.ts";
import { rescan } from "./catalogue.ts";
import { checkFiles } from "./check.ts";
import { FileWorker } from "./files/file-worker.ts";
import { fetchMetadata, listMetadata } from "./metadata.ts";
import type { BackupTarget } from "./storage/location.ts";

export type DisasterOptions = {
  readonly backupLocation: BackupTarget;
  /** A data directory without metadata; created when missing. */
  readonly dataDir: string;
  /** The newest when undefined. */
  readonly name: string | undefined;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
};

/** Throws, and leaves the data directory unchanged, when the metadata backup cannot be used. */
export async function restoreMetadata(options: DisasterOptions): Promise<void> {
  const { backupLocation, dataDir, tell, signal } = options;
  makeFolder(dataDir);
  const worker = new FileWorker();
  try {
    const name = options.name ?? (await listMetadata(backupLocation, signal))[0];
    if (name === undefined) {
      throw new Error(
        "this backup location holds no metadata backup: name the one with --backup-dir or --backup-bucket",
      );
    }
    const { createdAt, hasKey } = await fetchMetadata({ backupLocation, worker, dataDir }, name, signal);
    tell(`Restored the metadata of ${createdAt} (${name}) into ${dataDir}.`);
    const db = openDatabase(join(dataDir, "millrace.db"));
    try {
      await prepareServices(db, worker, options);
    } finally {
      await db.close();
    }
    if (!hasKey) {
      tell(
        "The backup does not contain the key that encrypts secrets. Before the start, copy the old secret.key into the",
      );
      tell("data directory, or set --secret-key. Without this key, the credentials of pipes must be set again.");
    }
    tell(`Start with: millrace serve --data-dir ${dataDir}`);
  } finally {
    await worker.close();
  }
}

async function prepareServices(db: Database, worker: FileWorker, options: DisasterOptions): Promise<void> {
  const { backupLocation, tell, signal } = options;
  const backups = new BackupStore(db);
  const restores = new RestoreStore(db);
  const services = new ServiceStore(db);
  await backups.forgetUnfinished();
  const known = new Set((await new OrganizationStore(db).list()).map((row) => row.id));
  const found = await rescan(
    { backupLocation, backups },
    { ownerOf: (id) => (known.has(id) ? id : undefined), names: () => true },
    signal,
  );
  tell(`Found ${found.adopted} backups that are newer than the metadata.`);
  for (const line of found.unreadable) tell(`Unreadable: ${line}`);
  for (const service of await services.listAll()) {
    if (service.desiredState === "deleted") continue;
    await services.beginAgain(service.id);
    if ((await restores.findUnfinishedFor(service.id)) !== undefined) continue;
    const backup = await newestWhole(backups, worker, service.id, options);
    if (backup === undefined) {
      // Its tables are lost: pipes that continued from their positions would leave a gap.
      await new PipeSnapshots(db, new Sealer(Buffer.alloc(32))).rewind(service.id, []);
      tell(
        `Service ${service.name} (${service.id}) has no usable backup: it starts empty, and its pipes start from the beginning.`,
      );
      continue;
    }
    await restores.request({
      backupId: backup.id,
      serviceId: service.id,
      scope: "rebuild",
      forced: false,
      pipes: "none",
    });
    tell(`Service ${service.name} (${service.id}) will be restored from ${backup.name}.`);
  }
}

async function newestWhole(backups: BackupStore, worker: FileWorker, serviceId: string, options: DisasterOptions) {
  const { backupLocation, tell, signal } = options;
  for (const row of await backups.listIn(serviceId)) {
    if (row.status !== "done") continue;
    const problems = await checkFiles(backupLocation.transferOf(row, worker), row, new Set(), signal);
    if (problems.length === 0) return row;
    tell(`Backup ${row.name} is damaged: ${problems[0]}`);
  }
  return undefined;
}
