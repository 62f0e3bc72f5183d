import { expect, test } from "vitest";
import type { Service } from "./service.ts";
import { differencesOf, settingsOf } from "./settings-form.ts";

const service = {
  name: "web",
  tags: [{ key: "team", value: "a" }, { key: "live" }],
  maxReplicaMemoryGb: 4,
  idleScaling: true,
  idleTimeoutMinutes: 15,
} as unknown as Service;
const backups = { backupPeriodInHours: 24, backupRetentionPeriodInHours: 168, backupStartTime: null };

test("a form that is not touched changes nothing", () => {
  const form = settingsOf(service, backups);
  expect(form).toMatchObject({ tags: "team=a, live", disk: "", retentionDays: "7", releaseChannel: "default" });
  expect(differencesOf(form, settingsOf(service, backups))).toEqual([]);
});

test("every difference is named with its value before and after", () => {
  const form = settingsOf(service, backups);
  expect(differencesOf(form, { ...form, idle: false, disk: "10", backupTime: "03:00" })).toEqual([
    { member: "disk", label: "Disk quota in GiB", before: "none", after: "10" },
    { member: "idle", label: "Sleep while nobody asks it", before: "yes", after: "no" },
    { member: "backupTime", label: "Daily backup at (UTC)", before: "none", after: "03:00" },
  ]);
});
