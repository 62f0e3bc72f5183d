/** The jobs of the backups room, one method per kind. A job that throws has recorded its reason. */

import { join } from "node:path";
import { traitsOf } from "../api/runtimes.ts";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import { ClickHouseError } from "../clickhouse/client.ts";
import type { EngineLease } from "../clickhouse/lease.ts";
import { AppError, describeError, publicMessage } from "../lib/errors.ts";
import { removeFolder } from "../lib/files.ts";
import type { Logger } from "../lib/logger.ts";
import type { Backup, CheckDepth } from "../store/backups/backups.ts";
import type { Restore } from "../store/backups/restores.ts";
import type { Stores } from "../store/open.ts";
import type { Service } from "../store/services/services.ts";
import { checkDeep, checkFiles } from "./check.ts";
import type { FileWorker } from "./files/file-worker.ts";
import type { FileTransfer } from "./files/files.ts";
import { backupFolder, type Manifest, manifestName, readManifest } from "./files/manifest.ts";
import { makeBackup } from "./make.ts";
import { planRestore, type RestorePlan } from "./plan.ts";
import { assertRestorable } from "./restorable.ts";
import { removePart, restorePart, restoreService } from "./restore.ts";
import { chooseBase, type PlannedFacts } from "./schedule.ts";
import { makeServerBackup } from "./server/make.ts";
import {
  planServerBackup,
  planServerRestore,
  requireLocation,
  requireRestorableAt,
  type ServerLocation,
} from "./server/requirements.ts";
import { restorePartAtServer } from "./server/restore.ts";
import type { BackupTarget } from "./storage/location.ts";

const progressEveryMs = 500;

export type JobDeps = Pick<Stores, "services" | "backups" | "restores" | "pipeSnapshots" | "ledger"> & {
  readonly backupLocation: BackupTarget;
  readonly worker: FileWorker;
  readonly dataDir: string;
  /** The service's engine: woken when idle, started without serving clients when stopped. */
  readonly engine: (serviceId: string, signal: AbortSignal) => Promise<EngineLease>;
  readonly maxChain: number;
  readonly logger: Logger;
};

export class BackupJobs {
  readonly #deps: JobDeps;

  constructor(deps: JobDeps) {
    this.#deps = deps;
  }

  /** Removes what checks of an earlier process have left. Runs before any job. */
  async cleanUp(): Promise<void> {
    await removeFolder(join(this.#deps.dataDir, "scratch"));
  }

  /** The facts of a new backup row. */
  plannedFacts(): PlannedFacts {
    const { backupLocation } = this.#deps;
    return { location: backupLocation.location, encrypted: backupLocation.encryptionKey !== undefined };
  }

  /** Makes the backup of an existing row, checks its files, and writes the outcome into the row. */
  async backup(row: Backup, service: Service, signal: AbortSignal): Promise<void> {
    const { backups, backupLocation, logger } = this.#deps;
    const isByServer = traitsOf(service).makesOwnBackups;
    const base = isByServer ? undefined : await this.#base(service.id, signal);
    const type = base === undefined ? "full" : "incremental";
    const startedAt = new Date().toISOString();
    const facts = {
      ...this.plannedFacts(),
      type,
      baseId: base?.id ?? null,
      startedAt,
    } as const;
    await backups.begin(row.id, facts);
    const begun: Backup = { ...row, ...facts, status: "in_progress" };
    try {
      await backupLocation.clearStaging(service.id);
      // Who sees an outcome finds nothing of the work beside it.
      const clear = () => this.#clearStaging(service.id);
      const { manifest, sizeBytes } = await this.#make(begun, service, base, signal).finally(clear);
      const finishedAt = manifest.finishedAt;
      await backups.finish(row.id, {
        finishedAt,
        sizeBytes,
        totalBytes: manifest.totalBytes,
      });
      logger.info({ serviceId: service.id, backupId: row.id, type, sizeBytes }, "backup made");
    } catch (error) {
      logger.warn({ err: error, serviceId: service.id, backupId: row.id }, "backup failed");
      await this.#removeWhatIsThere(begun, signal);
      await backups.fail(row.id, new Date().toISOString(), reasonOf(error, signal));
      return;
    }
    // Files that a distant server has written have been read for their manifest.
    await this.check({ ...begun, status: "done" }, "manifest", signal, isByServer);
  }

  /** Throws an AppError unless this server can make backups now. Without an address, only the location is judged. */
  async requireServerBackup(
    serviceId: string,
    address: ClickHouseAddress | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (address === undefined) return requireLocation(this.#serverLocation());
    const wanted = await this.#deps.pipeSnapshots.databasesOf(serviceId);
    await planServerBackup(address, this.#serverLocation(), wanted, signal);
  }

  /** The same for the restore of a part of the backup. */
  async requireServerRestore(
    address: ClickHouseAddress | undefined,
    backup: Backup,
    targetDatabase: string,
    signal: AbortSignal,
  ): Promise<void> {
    const keys = this.#deps.backupLocation.serverKeys;
    if (address === undefined) requireRestorableAt(backup);
    else await planServerRestore(address, backup, keys, targetDatabase, signal);
  }

  /**
   * Checks a backup and records the result; a damaged backup also invalidates the ones that need it. `wasJustRead`: all
   * files were read for the manifest, and only need to exist.
   */
  async check(row: Backup, depth: CheckDepth, signal: AbortSignal, wasJustRead = false): Promise<void> {
    const { backups, logger, dataDir } = this.#deps;
    const begunAt = new Date().toISOString();
    const transfer = this.#transferOf(row);
    const rows = await backups.listIn(row.serviceId);
    // Backups that were read in full and found whole are checked on their own schedule; here they only need to exist.
    const passed = new Set(rows.filter((other) => other.verification === "passed").map((other) => other.id));
    if (wasJustRead) passed.add(row.id);
    else passed.delete(row.id);
    let problems = await checkFiles(transfer, row, passed, signal);
    if (problems.length === 0 && depth === "deep") {
      problems = await checkDeep(transfer, row, join(dataDir, "scratch", row.id), signal);
    }
    const verification = problems.length === 0 ? ("passed" as const) : ("failed" as const);
    const at = new Date().toISOString();
    await backups.recordCheck(row.id, { verification, problems, deep: depth === "deep", begunAt }, at);
    logger[problems.length === 0 ? "info" : "error"]({ backupId: row.id, depth, problems }, "backup checked");
    if (problems.length === 0) return;
    for (const other of dependentsOf(rows, row.id)) {
      const because = [`it needs ${row.name}, which is damaged: ${problems[0]}`];
      await backups.recordCheck(other.id, { verification: "failed", problems: because, deep: false, begunAt }, at);
    }
  }

  /** Restores a database or table into a running service, and writes the outcome into the row. */
  async restorePart(restore: Restore, signal: AbortSignal): Promise<void> {
    const { restores, logger } = this.#deps;
    try {
      await this.#clearStaging(restore.serviceId);
      const backup = await this.#backupOf(restore);
      await this.#withEngine(restore.serviceId, signal, async (address) => {
        if (restore.status === "in_progress") await removePart(address, restore);
        await restores.begin(restore.id);
        const deps = this.#restoreDeps(restore, backup, address);
        if (address.isExternal) await restorePartAtServer(deps, signal);
        else await restorePart(deps, signal);
      });
      await restores.finish(restore.id, null, []);
    } catch (error) {
      // Stopping the program is not an outcome: the next start resumes the restore.
      if (signal.aborted) throw error;
      logger.warn({ err: error, restoreId: restore.id }, "restore failed");
      // The engine may have died during the restore. The restore ends only when nothing of it is left; until then the
      // next pass starts it again.
      if (!(error instanceof AppError) || restore.status === "in_progress") {
        await this.#withEngine(restore.serviceId, signal, (address) => removePart(address, restore));
      }
      await restores.finish(restore.id, reasonOf(error, signal), []);
    } finally {
      await this.#clearStaging(restore.serviceId);
    }
  }

  /**
   * Restores into a new service's engine, which serves no clients yet. Writes the reason into the row and throws it.
   */
  async fillNewService(restore: Restore, address: ClickHouseAddress, signal: AbortSignal): Promise<void> {
    const { restores, logger } = this.#deps;
    try {
      const backup = await this.#backupOf(restore);
      await restores.begin(restore.id);
      const notes = await restoreService(this.#restoreDeps(restore, backup, address), signal);
      await restores.finish(restore.id, null, notes);
      logger.info({ serviceId: restore.serviceId, backupId: backup.id }, "service restored");
    } catch (error) {
      if (!signal.aborted) await restores.finish(restore.id, reasonOf(error, signal), []);
      throw error instanceof AppError ? error : new Error(`restore: ${reasonOf(error, signal)}`, { cause: error });
    }
  }

  /** What a restore would do. Reads the backup's location; changes nothing and wakes no service. Throws like it. */
  async planRestore(
    restore: Parameters<typeof planRestore>[1],
    backup: Backup,
    address: ClickHouseAddress | undefined,
    signal: AbortSignal,
  ): Promise<RestorePlan> {
    const deps = { transfer: this.#transferOf(backup), pipes: this.#deps.pipeSnapshots, address };
    return await planRestore(deps, restore, backup, signal);
  }

  /**
   * Removes a backup: after the first step it no longer counts as a backup, and a repeated call continues an
   * interrupted one.
   */
  async remove(row: Backup, signal: AbortSignal): Promise<void> {
    await this.#deps.backups.markDeleting(row.id);
    await this.#removeStored(row, signal);
    await this.#deps.backups.remove(row.id);
    this.#deps.logger.info({ backupId: row.id, name: row.name }, "backup removed");
  }

  async #withEngine(
    serviceId: string,
    signal: AbortSignal,
    use: (address: ClickHouseAddress) => Promise<void>,
  ): Promise<void> {
    const lease = await this.#deps.engine(serviceId, signal);
    try {
      await use(lease.address);
    } finally {
      await lease.release();
    }
  }

  /** A backup that an earlier process was making: it fails, and its files are removed. */
  async failInterrupted(row: Backup, signal: AbortSignal): Promise<void> {
    await this.#clearStaging(row.serviceId).catch((error) => {
      this.#deps.logger.warn({ err: error, backupId: row.id }, "staging folder of a failed backup not emptied yet");
    });
    await this.#deps.backups.fail(
      row.id,
      new Date().toISOString(),
      "interrupted: Millrace ended while it was being made",
    );
    await this.#removeWhatIsThere(row, signal);
  }

  /** A deletion leaves the folder to the job that uses it, and only an engine of ours needs it between two jobs. */
  async #clearStaging(serviceId: string): Promise<void> {
    const { services, backupLocation } = this.#deps;
    const service = await services.find(serviceId);
    const isNeeded = service !== undefined && service.desiredState !== "deleted" && traitsOf(service).isOwnProcess;
    await (isNeeded ? backupLocation.clearStaging(serviceId) : backupLocation.removeStaging(serviceId));
  }

  async #make(row: Backup, service: Service, base: Manifest | undefined, signal: AbortSignal) {
    const { backups, pipeSnapshots: pipes, ledger, backupLocation, engine } = this.#deps;
    let stored = 0;
    let noted = 0;
    const onStored = (bytes: number) => {
      stored += bytes;
      if (Date.now() - noted < progressEveryMs) return;
      noted = Date.now();
      void backups.progress(row.id, stored).catch(() => {});
    };
    const deps = {
      transfer: this.#transferOf(row),
      ledger,
      pipes,
      staging: backupLocation.stagingOf(service.id),
      engine: (aborted: AbortSignal) => engine(service.id, aborted),
      onStored,
    };
    if (traitsOf(service).makesOwnBackups) {
      return await makeServerBackup({ ...deps, to: this.#serverLocation() }, row, service, signal);
    }
    return await makeBackup(deps, row, service, base, signal);
  }

  /** The manifest of the base backup; when it cannot be read, the next backup is a full one. */
  async #base(serviceId: string, signal: AbortSignal): Promise<Manifest | undefined> {
    const rows = await this.#deps.backups.listIn(serviceId);
    const row = chooseBase(rows, { ...this.plannedFacts(), maxChain: this.#deps.maxChain });
    if (row === undefined) return undefined;
    const transfer = this.#transferOf(row);
    try {
      return await readManifest(transfer.storage, backupFolder(serviceId, row.name), transfer.encryptionKey, signal);
    } catch (error) {
      this.#deps.logger.warn({ err: error, backupId: row.id }, "base not readable: making a full backup");
      return undefined;
    }
  }

  #serverLocation(): ServerLocation {
    return { ...this.plannedFacts(), keys: this.#deps.backupLocation.serverKeys };
  }

  #transferOf(row: Backup): FileTransfer {
    return this.#deps.backupLocation.transferOf(row, this.#deps.worker);
  }

  async #backupOf(restore: Restore): Promise<Backup> {
    const backup = await this.#deps.backups.find(restore.backupId);
    if (backup === undefined) throw new AppError("NOT_FOUND", `Backup ${restore.backupId} no longer exists.`);
    // The command that rebuilt the service found and checked this backup; a restore checks it again.
    const rebuilds = restore.scope === "rebuild" && backup.verification === "pending";
    assertRestorable(backup, restore.forced || rebuilds);
    return backup;
  }

  #restoreDeps(restore: Restore, backup: Backup, address: ClickHouseAddress) {
    let noted = 0;
    return {
      restore,
      backup,
      transfer: this.#transferOf(backup),
      pipes: this.#deps.pipeSnapshots,
      staging: this.#deps.backupLocation.stagingOf(restore.serviceId),
      serverKeys: this.#deps.backupLocation.serverKeys,
      address,
      onProgress: (doneBytes: number, totalBytes: number) => {
        if (Date.now() - noted < progressEveryMs) return;
        noted = Date.now();
        void this.#deps.restores.progress(restore.id, doneBytes, totalBytes).catch(() => {});
      },
    };
  }

  /**
   * Removes the files of a failed backup. When the location cannot be reached now, retention removes them with the
   * failed record.
   */
  async #removeWhatIsThere(row: Backup, signal: AbortSignal): Promise<void> {
    await this.#removeStored(row, signal).catch((error) => {
      this.#deps.logger.warn({ err: error, backupId: row.id }, "files of a failed backup not removed yet");
    });
  }

  /** The manifest first: what is left after a kill is garbage that cannot pass for a backup. */
  async #removeStored(row: Backup, signal: AbortSignal): Promise<void> {
    const storage = this.#deps.backupLocation.storageOf(row.location);
    const folder = backupFolder(row.serviceId, row.name);
    await storage.remove(folder + manifestName, signal);
    await storage.removeAll(folder, signal);
  }
}

function dependentsOf(rows: readonly Backup[], id: string): Backup[] {
  const direct = rows.filter((row) => row.baseId === id && row.status === "done");
  return direct.flatMap((row) => [row, ...dependentsOf(rows, row.id)]);
}

/**
 * The reason for the record. The engine's own message concerns the user's tables; any other message stays in the log.
 */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "interrupted: Millrace was stopped";
  if (error instanceof AppError) return publicMessage(error);
  if (error instanceof ClickHouseError) return error.message.slice(0, 1000);
  return describeError(error).slice(0, 1000);
}
