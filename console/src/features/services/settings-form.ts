/** The settings of a service as one form, its differences, and the requests that save them. */
import { type CallInput, call, type OperationResult } from "../../api/client.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import { tagsOf } from "./create-form.ts";
import type { Service } from "./service.ts";

export type BackupConfiguration = OperationResult<"getBackupConfiguration">;

export type SettingsForm = Readonly<ReturnType<typeof settingsOf>>;

export function settingsOf(service: Service, backups: BackupConfiguration) {
  return {
    name: service.name,
    tags: service.tags.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join(", "),
    releaseChannel: (service.releaseChannel ?? "default") as string,
    memory: String(service.maxReplicaMemoryGb),
    disk: service.diskGb === undefined ? "" : String(service.diskGb),
    idle: service.idleScaling,
    idleMinutes: String(service.idleTimeoutMinutes),
    /** `HH:MM` for one backup a day, or empty for the period. */
    backupTime: backups.backupStartTime ?? "",
    backupHours: String(backups.backupPeriodInHours),
    retentionDays: String(backups.backupRetentionPeriodInHours / 24),
  };
}

const labels: Readonly<Record<keyof SettingsForm, string>> = {
  name: "Name",
  tags: "Tags",
  releaseChannel: "Release channel",
  memory: "Memory limit in GiB",
  disk: "Disk quota in GiB",
  idle: "Sleep while nobody asks it",
  idleMinutes: "Minutes without a query",
  backupTime: "Daily backup at (UTC)",
  backupHours: "Hours between backups",
  retentionDays: "Days that backups are kept",
};

export type Difference = {
  readonly member: keyof SettingsForm;
  readonly label: string;
  readonly before: string;
  readonly after: string;
};

/** What the form changes. */
export function differencesOf(before: SettingsForm, after: SettingsForm): Difference[] {
  const members = Object.keys(labels) as (keyof SettingsForm)[];
  return members
    .filter((member) => before[member] !== after[member])
    .map((member) => ({ member, label: labels[member], before: textOf(before[member]), after: textOf(after[member]) }));
}

function textOf(value: string | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === "" ? "none" : value;
}

type Loaded = { readonly service: Service; readonly form: SettingsForm };

/**
 * Saves the differences by up to three requests; those to the service apply only to the version that the form was made
 * of. Throws ApiError, after `onPart` if a part is saved; 412 if someone else changed the service.
 */
export async function saveSettings(
  { service, form: before }: Loaded,
  after: SettingsForm,
  onPart: () => Promise<void>,
): Promise<void> {
  const members = differencesOf(before, after).map(({ member }) => member);
  const changed = new Set(members);
  const params = { serviceId: service.id };
  let ifMatch = service.version;
  let isPart = false;
  try {
    if (members.some((member) => ["memory", "idle", "idleMinutes"].includes(member))) {
      const body = scalingOf(after, changed);
      ifMatch = (await call("updateServiceScaling", { params, body, ifMatch })).version;
      isPart = true;
    }
    if (members.some((member) => ["name", "tags", "releaseChannel", "disk"].includes(member))) {
      await call("updateService", { params, body: changeOf(service, after, changed), ifMatch });
      isPart = true;
    }
    if (members.some((member) => ["backupTime", "backupHours", "retentionDays"].includes(member))) {
      await call("updateBackupConfiguration", { params, body: scheduleOf(after) });
    }
  } catch (error) {
    if (isPart) await onPart();
    throw error;
  }
}

type Members = ReadonlySet<keyof SettingsForm>;

function scalingOf(form: SettingsForm, changed: Members): CallInput<"updateServiceScaling">["body"] {
  const memory = typedNumber(form.memory);
  return {
    ...(changed.has("memory") ? { minReplicaMemoryGb: memory, maxReplicaMemoryGb: memory } : {}),
    ...(changed.has("idle") ? { idleScaling: form.idle } : {}),
    ...(changed.has("idleMinutes") ? { idleTimeoutMinutes: typedNumber(form.idleMinutes) } : {}),
  };
}

function changeOf(service: Service, form: SettingsForm, changed: Members): CallInput<"updateService">["body"] {
  const tags = { remove: service.tags, add: tagsOf(form.tags) };
  return {
    ...(changed.has("name") ? { name: form.name } : {}),
    ...(changed.has("tags") ? { tags } : {}),
    ...(changed.has("releaseChannel") ? { releaseChannel: form.releaseChannel as "default" } : {}),
    ...(changed.has("disk") ? { diskGb: form.disk.trim() === "" ? null : typedNumber(form.disk) } : {}),
  };
}

/** A time of the day and a period exclude each other. */
function scheduleOf(form: SettingsForm): CallInput<"updateBackupConfiguration">["body"] {
  const retention = { backupRetentionPeriodInHours: typedNumber(form.retentionDays, 24) };
  return form.backupTime === ""
    ? { ...retention, backupStartTime: null, backupPeriodInHours: typedNumber(form.backupHours) }
    : { ...retention, backupStartTime: form.backupTime, backupPeriodInHours: null };
}
