/**
 * The catalogue of backups and their requests. Requests (`queued` rows, `check_wanted`, configurations) are written by
 * the HTTP handlers; everything else by the backups reconciler alone. Only one control plane writes here, so a row that
 * is `in_progress` at start belongs to an earlier process.
 */
import { randomUUID } from "node:crypto";
import { addActivity, type NewActivity } from "../access/activities.ts";
import { columnsOf, insertRow, readFlag, readPlainJson, recordReader } from "../database/columns.ts";
import type { Queries } from "../database/database.ts";
import { findRecord, listRecords, Store, updateRows, upsertRow } from "../database/records.ts";

/** `queued`: requested; `deleting`: being removed by retention, and not listed. */
export type BackupStatus = "queued" | "in_progress" | "done" | "error" | "deleting";
export type BackupType = "full" | "incremental";
export type Verification = "pending" | "passed" | "failed";
export type CheckDepth = "manifest" | "deep";

/** The location of a backup, without keys, which are in the configuration. */
export type BackupLocation =
  | { readonly kind: "local"; readonly root: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      /** Ends in `/` unless it is empty. */
      readonly prefix: string;
      readonly endpoint?: string;
      readonly region: string;
    };

export type Backup = {
  readonly id: string;
  readonly organizationId: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly name: string;
  readonly trigger: "schedule" | "request";
  readonly status: BackupStatus;
  readonly type: BackupType;
  readonly baseId: string | null;
  readonly location: BackupLocation;
  readonly encrypted: boolean;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Bytes stored by this backup itself. */
  readonly sizeBytes: number;
  /** Bytes of everything that the backup restores, its chain included. */
  readonly totalBytes: number;
  readonly error: string | null;
  readonly verification: Verification;
  readonly verifiedAt: string | null;
  readonly deepVerifiedAt: string | null;
  /** Sentences, each naming a file. */
  readonly problems: readonly string[];
  readonly checkWanted: CheckDepth | null;
};

export type NewBackup = Pick<
  Backup,
  | "organizationId"
  | "serviceId"
  | "serviceName"
  | "name"
  | "trigger"
  | "status"
  | "type"
  | "baseId"
  | "location"
  | "encrypted"
  | "startedAt"
> &
  Partial<Backup>;

/** null: the default applies. */
export type BackupConfiguration = {
  readonly periodHours: number | null;
  readonly retentionHours: number | null;
  readonly startTime: string | null;
};

export type CheckResult = {
  readonly verification: Verification;
  readonly problems: readonly string[];
  readonly deep: boolean;
  readonly begunAt: string;
};

const unset: BackupConfiguration = { periodHours: null, retentionHours: null, startTime: null };

export class BackupStore extends Store {
  /** Inserts a row; one with a known id replaces nothing and is ignored. Returns the id. */
  async insert(backup: NewBackup): Promise<string> {
    const id = backup.id ?? randomUUID();
    await insertRow(this.db, "backups", { ...backup, id }, "ON CONFLICT (id) DO NOTHING");
    return id;
  }

  /** Inserts a queued row, unless the service has one that is queued or in progress: then returns undefined. */
  async request(backup: NewBackup): Promise<string | undefined> {
    const row = columnsOf({ ...backup, id: backup.id ?? randomUUID() });
    const columns = Object.keys(row);
    const added = await this.db.run(
      `INSERT INTO backups (${columns.join(", ")}) SELECT ${columns.map(() => "?").join(", ")}
       WHERE NOT EXISTS (SELECT 1 FROM backups WHERE service_id = ? AND status IN ('queued', 'in_progress'))`,
      ...Object.values(row),
      backup.serviceId,
    );
    return added === 1 ? (row.id as string) : undefined;
  }

  async find(id: string): Promise<Backup | undefined> {
    return await findRecord(this.db, backups, "WHERE id = ? AND status <> 'deleting'", id);
  }

  async findIn(organizationId: string, id: string): Promise<Backup | undefined> {
    const one = "WHERE id = ? AND organization_id = ? AND status <> 'deleting'";
    return await findRecord(this.db, backups, one, id, organizationId);
  }

  /** Newest first, without those being removed. */
  async listIn(serviceId: string): Promise<Backup[]> {
    const all = "WHERE service_id = ? AND status <> 'deleting' ORDER BY started_at DESC, id";
    return await listRecords(this.db, backups, all, serviceId);
  }

  async listInOrganization(organizationId: string): Promise<Backup[]> {
    const all = "WHERE organization_id = ? AND status <> 'deleting' ORDER BY started_at DESC, id";
    return await listRecords(this.db, backups, all, organizationId);
  }

  /** All rows, including those being removed; oldest first. */
  async listAll(): Promise<Backup[]> {
    return await listRecords(this.db, backups, "ORDER BY started_at, id");
  }

  async begin(id: string, facts: Pick<Backup, "type" | "baseId" | "location" | "encrypted" | "startedAt">) {
    await this.#set(id, { ...facts, status: "in_progress" });
  }

  /** Records the bytes stored so far. */
  async progress(id: string, sizeBytes: number): Promise<void> {
    await this.#set(id, { sizeBytes });
  }

  async finish(id: string, facts: Pick<Backup, "finishedAt" | "sizeBytes" | "totalBytes">): Promise<void> {
    await this.#set(id, { ...facts, status: "done", error: null }, { type: "backup_done" });
  }

  /** Ends the row as failed: nothing of the backup is stored. */
  async fail(id: string, finishedAt: string, error: string): Promise<void> {
    const failed = { status: "error", finishedAt, error, sizeBytes: 0, checkWanted: null } as const;
    await this.#set(id, failed, { type: "backup_failed", reason: error });
  }

  /**
   * After a disaster: forgets the backups in progress when the metadata was copied. They may have finished since, and
   * are then found at the location. Only while no control plane runs.
   */
  async forgetUnfinished(): Promise<void> {
    await this.db.run("DELETE FROM backups WHERE status IN ('queued', 'in_progress')");
  }

  /** Records that the backup was found at another location, where it counts as unchecked. */
  async relocate(id: string, location: BackupLocation): Promise<void> {
    await this.#set(id, { location, verification: "pending" });
  }

  async markDeleting(id: string): Promise<void> {
    await this.#set(id, { status: "deleting" }, { type: "backup_delete" });
  }

  async remove(id: string): Promise<void> {
    await this.db.run("DELETE FROM backups WHERE id = ?", id);
  }

  /** Requests a check; a deeper request that is pending stays. */
  async wantCheck(id: string, depth: CheckDepth): Promise<void> {
    await this.db.run(
      `UPDATE backups SET check_wanted_at = ?,
         check_wanted = CASE check_wanted WHEN 'deep' THEN 'deep' ELSE ? END WHERE id = ?`,
      ...[new Date().toISOString(), depth, id],
    );
  }

  /** In one transaction: records the result, and clears requests from before the check began. A later request stays. */
  async recordCheck(id: string, result: CheckResult, at: string): Promise<void> {
    const isGood = result.verification === "passed";
    const reason = isGood ? (result.deep ? "restored as a trial" : "read back") : (result.problems[0] ?? null);
    await this.db.transaction(async (tx) => {
      await tx.run(
        `UPDATE backups SET verification = ?, problems = ?, verified_at = ?,
         deep_verified_at = CASE WHEN ? THEN ? ELSE deep_verified_at END,
         check_wanted = CASE WHEN check_wanted_at < ? THEN NULL ELSE check_wanted END WHERE id = ?`,
        ...[result.verification, JSON.stringify(result.problems), at],
        ...[Number(result.deep && result.verification === "passed"), at, result.begunAt, id],
      );
      await noteBackup(tx, id, { type: isGood ? "backup_verified" : "backup_damaged", reason });
    });
  }

  async configuration(serviceId: string): Promise<BackupConfiguration> {
    return (await findRecord(this.db, configurations, "WHERE service_id = ?", serviceId)) ?? unset;
  }

  async setConfiguration(serviceId: string, value: BackupConfiguration): Promise<void> {
    const { periodHours, retentionHours, startTime } = value;
    await upsertRow(this.db, "backup_configurations", { serviceId }, { periodHours, retentionHours, startTime });
  }

  /** `activity`: what the change means to people. */
  async #set(id: string, change: Partial<Backup>, activity?: BackupActivity): Promise<void> {
    await this.db.transaction(async (tx) => {
      await updateRows(tx, "backups", { id }, change);
      if (activity !== undefined) await noteBackup(tx, id, activity);
    });
  }
}

type BackupActivity = Pick<NewActivity, "type" | "reason">;

async function noteBackup(tx: Queries, id: string, activity: BackupActivity): Promise<void> {
  const backup = await findRecord(tx, backups, "WHERE id = ?", id);
  if (backup === undefined) return;
  const { organizationId, serviceId, name } = backup;
  await addActivity(tx, { organizationId, serviceId, object: { type: "backup", id, name }, ...activity });
}

const toBackup = recordReader<Backup>()(
  [
    "id organizationId serviceId serviceName name trigger status type baseId location encrypted startedAt finishedAt",
    "sizeBytes totalBytes error verification verifiedAt deepVerifiedAt problems checkWanted",
  ],
  { location: readPlainJson, encrypted: readFlag, problems: readPlainJson },
);
const backups = { table: "backups", read: toBackup };
const toConfiguration = recordReader<BackupConfiguration>()(["periodHours retentionHours startTime"], {});
const configurations = { table: "backup_configurations", read: toConfiguration };
