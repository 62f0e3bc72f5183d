/** Backups: handlers read rows and write requests; the backups room carries them out. */

import type { z } from "zod";
import type { restoreBody } from "../../api/backups.ts";
import type { ManagementOperations } from "../../api/operations.ts";
import { traitsOf } from "../../api/runtimes.ts";
import type { Rescan, RescanScope } from "../../backups/catalogue.ts";
import type { planRestore, RestorePlan } from "../../backups/plan.ts";
import { newBackupOf } from "../../backups/reconciler.ts";
import { assertRestorable } from "../../backups/restorable.ts";
import type { RetentionVerdict } from "../../backups/retention.ts";
import type { PlannedFacts } from "../../backups/schedule.ts";
import { AppError, found, notFound } from "../../lib/errors.ts";
import type { Backup } from "../../store/backups/backups.ts";
import type { Stores } from "../../store/open.ts";
import type { Service } from "../../store/services/services.ts";
import {
  type BackupDefaults,
  type BucketRole,
  backupDetailsOf,
  backupRecordOf,
  configurationOf,
  restorePlanOf,
  restoreRecordOf,
} from "../views/backups.ts";
import type { Management, ServiceParams } from "./lookups.ts";
import { findService } from "./lookups.ts";

export type BackupDeps = Pick<Stores, "services" | "backups" | "restores" | "pipes"> & {
  readonly role: BucketRole;
  readonly defaults: BackupDefaults;
  /** The location and format of the next backup. */
  readonly plannedFacts: () => PlannedFacts;
  readonly retention: (serviceId: string) => Promise<RetentionVerdict[]>;
  readonly rescan: (scope: RescanScope, signal: AbortSignal) => Promise<Rescan>;
  /** Looks at the target only in a service that runs; without one, the plan is for a new service. */
  readonly planRestore: (
    restore: Parameters<typeof planRestore>[1],
    backup: Backup,
    serviceId: string | undefined,
    signal: AbortSignal,
  ) => Promise<RestorePlan>;
  /** Throws an AppError unless the server of this service can make backups, or restore a part of this one. */
  readonly requireServerBackup: (service: Service, signal: AbortSignal) => Promise<void>;
  readonly requireServerRestore: (
    service: Service,
    backup: Backup,
    database: string,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Triggers a pass of the backups loop. */
  readonly poke: () => void;
};

type Names = Extract<keyof ManagementOperations, `${string}${"Backup" | "Restore" | "Retention"}${string}`>;
type Of<Params> = { params: Params };
type BackupParams = ServiceParams & { readonly backupId: string };

export function backupHandlers(deps: BackupDeps): Management<Names> {
  return { ...recordHandlers(deps), ...restoreHandlers(deps), ...scheduleHandlers(deps) };
}

function recordHandlers(
  deps: BackupDeps,
): Management<"listBackups" | "createBackup" | "getBackup" | "verifyBackup" | "listAllBackups" | "rescanBackups"> {
  const { backups, restores, role } = deps;
  return {
    listBackups: async ({ params }) => {
      const rows = await backups.listIn(await knownService(deps, params));
      return rows.map((row) => backupRecordOf(row, role));
    },
    createBackup: async ({ params }, { signal }) => {
      const service = await findService(deps, params);
      if (service.state === "provisioning" || (await restores.findUnfinishedFor(service.id)) !== undefined) {
        throw new AppError("CONFLICT", "The service is still being provisioned; there is nothing to back up yet.");
      }
      refuseStopped(service);
      await requireBackup(deps, service, signal);
      const id = await backups.request({ ...newBackupOf(service, deps.plannedFacts()), trigger: "request" });
      if (id === undefined) throw new AppError("CONFLICT", "A backup of this service is already in progress.");
      deps.poke();
      return backupRecordOf((await backups.find(id)) as Backup, role);
    },
    getBackup: async (input) => backupDetailsOf(await findBackup(deps, input), role),
    verifyBackup: async (input) => {
      const row = await findBackup(deps, input);
      if (row.status !== "done") throw new AppError("CONFLICT", "Only a backup that is done can be verified.");
      await backups.wantCheck(row.id, input.body.deep === true ? "deep" : "manifest");
      deps.poke();
      return backupDetailsOf(await findBackup(deps, input), role);
    },
    listAllBackups: async ({ params }) =>
      (await backups.listInOrganization(params.organizationId)).map((row) => backupRecordOf(row, role)),
    rescanBackups: async ({ params }, context) => {
      const result = await deps.rescan(await scopeOf(deps, params.organizationId), context.signal);
      deps.poke();
      return result;
    },
  };
}

function restoreHandlers(
  deps: BackupDeps,
): Management<"restoreBackup" | "planRestore" | "listRestores" | "getRestore"> {
  const { restores } = deps;
  return {
    restoreBackup: async (input, { signal }) => {
      const { body, params } = input;
      const backup = await findBackup(deps, input);
      assertRestorable(backup, body.force === true);
      const target = await targetOf(deps, params, body, backup, signal);
      const part = partOf(body);
      const [message] = (await deps.planRestore(part, backup, target.id, signal)).problems;
      if (message !== undefined) {
        const path = body.table === undefined ? "targetDatabase" : "targetTable";
        throw new AppError("CONFLICT", message, { issues: [{ path, message }] });
      }
      const id = await restores.request({ ...part, backupId: backup.id, serviceId: target.id });
      deps.poke();
      return restoreRecordOf(found(await restores.findIn(target.id, id), "Restore", id));
    },
    planRestore: async (input, { signal }) => {
      const { body, params } = input;
      const backup = await findBackup(deps, input);
      if (!("database" in body)) {
        const wanted = {
          scope: "service",
          forced: body.force === true,
          pipes: body.restorePipes ?? "stopped",
        } as const;
        return restorePlanOf(await deps.planRestore(wanted, backup, undefined, signal), undefined);
      }
      const target = await targetOf(deps, params, body, backup, signal);
      const plan = await deps.planRestore(partOf(body), backup, target.id, signal);
      return restorePlanOf(plan, await deps.pipes.listIn(target.id));
    },
    listRestores: async ({ params }) => {
      const service = await findService(deps, params);
      return (await restores.listIn(service.id)).map(restoreRecordOf);
    },
    getRestore: async ({ params }) => {
      const service = await findService(deps, params);
      return restoreRecordOf(found(await restores.findIn(service.id, params.restoreId), "Restore", params.restoreId));
    },
  };
}

type PartBody = z.output<typeof restoreBody>;

/** The restore of a database or table that a body asks for. */
function partOf(body: PartBody) {
  return {
    scope: body.table === undefined ? "database" : "table",
    sourceDatabase: body.database,
    sourceTable: body.table ?? null,
    targetDatabase: body.targetDatabase,
    targetTable: body.table === undefined ? null : (body.targetTable ?? body.table),
    forced: body.force === true,
    pipes: "none",
  } as const;
}

/** The service that receives a database or table. */
async function targetOf(
  deps: BackupDeps,
  params: ServiceParams,
  body: PartBody,
  backup: Backup,
  signal: AbortSignal,
): Promise<Service> {
  const target = await findService(deps, { ...params, serviceId: body.targetServiceId ?? params.serviceId });
  refuseStopped(target);
  if (traitsOf(target).makesOwnBackups) await deps.requireServerRestore(target, backup, body.targetDatabase, signal);
  return target;
}

/** Throws for a service whose server cannot make the backup, with the reason. */
async function requireBackup(deps: BackupDeps, service: Service, signal: AbortSignal): Promise<void> {
  if (traitsOf(service).makesOwnBackups) await deps.requireServerBackup(service, signal);
}

/** Pods are not started for a backup or a restore of a service that somebody has stopped. */
function refuseStopped(service: Service): void {
  if (traitsOf(service).canBeReadStopped || service.desiredState !== "stopped") return;
  throw new AppError("CONFLICT", "The service is stopped, and its pods make and restore backups: start it first.");
}

function scheduleHandlers(
  deps: BackupDeps,
): Management<"getBackupConfiguration" | "updateBackupConfiguration" | "previewRetention"> {
  const { backups } = deps;
  return {
    getBackupConfiguration: async ({ params }) => {
      const service = await findService(deps, params);
      return configurationOf(await backups.configuration(service.id), deps.defaults);
    },
    updateBackupConfiguration: async ({ params, body }, { signal }) => {
      const service = await findService(deps, params);
      const sets = body.backupPeriodInHours != null || body.backupStartTime != null;
      if (sets) await requireBackup(deps, service, signal);
      const now = await backups.configuration(service.id);
      const changed = {
        periodHours: body.backupPeriodInHours === undefined ? now.periodHours : body.backupPeriodInHours,
        retentionHours:
          body.backupRetentionPeriodInHours === undefined ? now.retentionHours : body.backupRetentionPeriodInHours,
        startTime: body.backupStartTime === undefined ? now.startTime : body.backupStartTime,
      };
      // Both fields set the schedule; the one given last applies.
      if (body.backupStartTime != null) changed.periodHours = null;
      if (body.backupPeriodInHours != null) changed.startTime = null;
      await backups.setConfiguration(service.id, changed);
      deps.poke();
      return configurationOf(changed, deps.defaults);
    },
    previewRetention: async ({ params }) => {
      const verdicts = await deps.retention(await knownService(deps, params));
      return verdicts.map(({ row, keep, reason }) => ({ backupId: row.id, backupName: row.name, keep, reason }));
    },
  };
}

/** Only backups of this organization; those of others, known or not, concern the operator. */
async function scopeOf(deps: BackupDeps, organizationId: string): Promise<RescanScope> {
  const services = await deps.services.listIn(organizationId);
  const backups = await deps.backups.listInOrganization(organizationId);
  const ids = new Set([...services.map(({ id }) => id), ...backups.map((row) => row.serviceId)]);
  return { ownerOf: (id) => (id === organizationId ? id : undefined), names: (serviceId) => ids.has(serviceId) };
}

/** Id of an existing service, or of a deleted one that has backups left. */
async function knownService(deps: BackupDeps, params: ServiceParams): Promise<string> {
  if ((await deps.services.findIn(params.organizationId, params.serviceId)) !== undefined) return params.serviceId;
  const rows = await deps.backups.listIn(params.serviceId);
  if (rows.some((row) => row.organizationId === params.organizationId)) return params.serviceId;
  throw notFound("Service", params.serviceId);
}

async function findBackup(deps: BackupDeps, { params }: Of<BackupParams>): Promise<Backup> {
  const row = found(await deps.backups.findIn(params.organizationId, params.backupId), "Backup", params.backupId);
  return found(row.serviceId === params.serviceId ? row : undefined, "Backup", params.backupId);
}
