/**
 * Runs what is requested and what is due: backups, checks, restores, removals. One job per service at a time, and a few
 * in total; jobs run beside the loop and poke it when they end. Only this room writes states of backups.
 */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { traitsOf } from "../api/runtimes.ts";
import type { Logger } from "../lib/logger.ts";
import { TaskTable } from "../lib/task-table.ts";
import type { Backup, BackupConfiguration } from "../store/backups/backups.ts";
import type { Restore } from "../store/backups/restores.ts";
import { isLedHere } from "../store/nodes/leases.ts";
import type { LeasedStores } from "../store/open.ts";
import type { Service } from "../store/services/services.ts";
import type { BackupJobs } from "./jobs.ts";
import { retentionVerdicts } from "./retention.ts";
import { backupName, type Clock, defaultRetentionHours, nextDueAt, type PlannedFacts } from "./schedule.ts";

const parallelJobs = 2;

/** The leases say of which services this process makes the backups. */
export type BackupsReconcilerOptions = Pick<LeasedStores, "backups" | "restores" | "services" | "leases"> & {
  readonly jobs: BackupJobs;
  readonly logger: Logger;
  readonly poke: () => void;
  readonly hourMs: number;
  /** Hours after which a backup's files are read again and the newest backup gets a trial restore; 0: never. */
  readonly checkHours: number;
  /** Called when a service's backup has been made: a metadata backup follows. */
  readonly onBackup: () => void;
};

type Lane = { readonly rows: Backup[]; readonly restores: Restore[]; readonly service: Service | undefined };

export class BackupsReconciler {
  readonly #options: BackupsReconcilerOptions;
  /** By service. A failed job has recorded its reason; the pause is for jobs that could not even do that. */
  readonly #tasks: TaskTable;
  #isClean = false;
  /** Services whose interrupted backups are recorded as such. */
  readonly #recovered = new Set<string>();

  constructor(options: BackupsReconcilerOptions) {
    this.#options = options;
    this.#tasks = new TaskTable({
      poke: options.poke,
      onFailure: (serviceId, err) => options.logger.error({ err, serviceId }, "backup job failed"),
    });
  }

  /** One pass over the services of this process, including deleted ones that have backups left. */
  async pass(signal: AbortSignal): Promise<void> {
    const { backups, restores, services, jobs } = this.#options;
    if (!this.#isClean) await jobs.cleanUp();
    this.#isClean = true;
    const rows = Map.groupBy(await backups.listAll(), (row) => row.serviceId);
    const open = Map.groupBy(await restores.listOpen(), (row) => row.serviceId);
    const live = new Map((await services.listAll()).map((row) => [row.id, row]));
    const ours: string[] = [];
    for (const id of new Set([...live.keys(), ...rows.keys()])) {
      const isOurs = await this.#isOurs(id, live.has(id), rows.get(id) ?? []);
      if (!isOurs) this.#recovered.delete(id);
      else if (!this.#recovered.has(id)) await this.#recover(id, rows.get(id) ?? [], signal);
      if (isOurs) ours.push(id);
    }
    for (const id of ours) {
      if (this.#tasks.active >= parallelJobs) return;
      if (!this.#tasks.isFree(id)) continue;
      const lane = { rows: rows.get(id) ?? [], restores: open.get(id) ?? [], service: live.get(id) };
      const job = await this.#nextJob(id, lane, signal);
      if (job !== undefined) this.#tasks.run(id, () => unlessAborted(job, signal));
    }
  }

  /** Waits for running jobs, which end because the signal has aborted. */
  async close(): Promise<void> {
    await this.#tasks.close();
  }

  /** The current retention decisions for the backups of a service. */
  async retention(serviceId: string) {
    const { backups, services } = this.#options;
    const rows = (await backups.listAll()).filter((row) => row.serviceId === serviceId);
    return await this.#verdicts(serviceId, rows, await services.find(serviceId));
  }

  async #verdicts(serviceId: string, rows: readonly Backup[], service: Service | undefined) {
    const { backups, hourMs } = this.#options;
    return retentionVerdicts(rows, {
      retentionMs: retentionMs(await backups.configuration(serviceId), hourMs),
      serviceExists: service !== undefined && service.desiredState !== "deleted",
      now: Date.now(),
    });
  }

  /** Backups of a deleted service are removed by a process that can reach them. */
  async #isOurs(id: string, exists: boolean, rows: readonly Backup[]): Promise<boolean> {
    const { leases } = this.#options;
    if (leases.holds("service", id)) return true;
    if (exists || rows.some(({ location }) => location.kind === "local" && !existsSync(location.root))) return false;
    return await isLedHere(leases, `backups of ${id}`);
  }

  /** Rows in progress belong to an earlier process, unless a job runs. */
  async #recover(id: string, rows: Backup[], signal: AbortSignal): Promise<void> {
    const { backups, jobs, logger } = this.#options;
    if (this.#tasks.isFree(id)) {
      for (const [at, row] of rows.entries()) {
        if (row.status !== "in_progress") continue;
        logger.warn({ backupId: row.id, serviceId: row.serviceId }, "backup was interrupted");
        await jobs.failInterrupted(row, signal);
        rows[at] = (await backups.find(row.id)) ?? row;
      }
    }
    this.#recovered.add(id);
  }

  async #nextJob(id: string, lane: Lane, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const { jobs } = this.#options;
    const { rows, service } = lane;
    const half = rows.find((row) => row.status === "deleting");
    if (half !== undefined) return () => jobs.remove(half, signal);
    const exists = service !== undefined && service.desiredState !== "deleted";
    // While a service is restored from a backup, it has no data of its own, and its staging folder is in use.
    const filled = exists && (await this.#options.restores.findUnfinishedFor(id)) === undefined;
    if (filled) {
      const restore = lane.restores.find((row) => row.scope === "database" || row.scope === "table");
      if (restore !== undefined) return () => jobs.restorePart(restore, signal);
      const backup = rows.find((row) => row.status === "queued");
      if (backup !== undefined) return () => this.#backup(backup, service, signal);
    }
    const wanted = rows.find(
      (row) => row.status === "done" && (row.checkWanted !== null || row.verification === "pending"),
    );
    if (wanted !== undefined) return () => jobs.check(wanted, wanted.checkWanted ?? "manifest", signal);
    if (filled && (await this.#isDue(service, rows))) return () => this.#scheduled(service, signal);
    const old = (await this.#verdicts(id, rows, service)).find(
      (verdict) => !verdict.keep && verdict.row.status !== "queued",
    );
    if (old !== undefined) return () => jobs.remove(old.row, signal);
    return this.#nextCheck(rows, service, signal);
  }

  async #isDue(service: Service, rows: readonly Backup[]): Promise<boolean> {
    if (service.databaseVersion === "") return false;
    // Its pods would have to be started for it.
    if (!traitsOf(service).canBeReadStopped && service.desiredState === "stopped") return false;
    const configuration = await this.#options.backups.configuration(service.id);
    // The load is on a server that is not ours: it is backed up on request, or on a schedule that was set.
    const isSet = configuration.periodHours !== null || configuration.startTime !== null;
    if (!traitsOf(service).isOwnProcess && !isSet) return false;
    return nextDueAt(rows, configuration, service.createdAt, this.#clock()) <= Date.now();
  }

  async #scheduled(service: Service, signal: AbortSignal): Promise<void> {
    const { backups, jobs } = this.#options;
    const id = await backups.request({
      ...newBackupOf(service, jobs.plannedFacts()),
      trigger: "schedule",
    });
    const row = id === undefined ? undefined : await backups.find(id);
    if (row !== undefined) await this.#backup(row, service, signal);
  }

  async #backup(row: Backup, service: Service, signal: AbortSignal): Promise<void> {
    await this.#options.jobs.backup(row, service, signal);
    this.#options.onBackup();
  }

  /**
   * Old results are renewed: for the newest backup by a trial restore, for the others by reading their files. What a
   * distant server has may not fit on this machine, and is restored as a trial on request only.
   */
  #nextCheck(
    rows: readonly Backup[],
    service: Service | undefined,
    signal: AbortSignal,
  ): (() => Promise<void>) | undefined {
    const { jobs, checkHours } = this.#options;
    if (checkHours === 0) return undefined;
    const stale = (at: string | null) => at === null || Date.now() - Date.parse(at) > checkHours * this.#options.hourMs;
    const done = rows.filter((row) => row.status === "done" && row.verification !== "failed");
    const newest = done.at(-1);
    // Once per period and service, for whichever backup: otherwise each new backup would start its own trial restore.
    const isDistant = service !== undefined && traitsOf(service).makesOwnBackups;
    if (newest !== undefined && !isDistant && done.every((row) => stale(row.deepVerifiedAt))) {
      return () => jobs.check(newest, "deep", signal);
    }
    const unread = done.find((row) => stale(row.verifiedAt));
    return unread && (() => jobs.check(unread, "manifest", signal));
  }

  #clock(): Clock {
    return { now: Date.now(), hourMs: this.#options.hourMs };
  }
}

/** A job that ends because of the signal has not failed. */
async function unlessAborted(job: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await job();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** A row for a backup requested now; whether it is full or an increment is decided when it starts. */
export function newBackupOf(service: Service, facts: PlannedFacts) {
  const id = randomUUID();
  const now = new Date().toISOString();
  return {
    id,
    organizationId: service.organizationId,
    serviceId: service.id,
    serviceName: service.name,
    name: backupName(now, id),
    status: "queued",
    type: "full",
    baseId: null,
    startedAt: now,
    ...facts,
  } as const;
}

function retentionMs(configuration: BackupConfiguration, hourMs: number): number {
  return (configuration.retentionHours ?? defaultRetentionHours) * hourMs;
}
