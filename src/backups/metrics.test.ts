import { expect, test } from "vitest";
import type { BackupStore } from "../store/backups/backups.ts";
import { backupSamples } from "./metrics.ts";

test("a service that is backed up here is seen before its first backup", async () => {
  const none = { listAll: async () => [] } as Pick<BackupStore, "listAll"> as BackupStore;
  const samples = await backupSamples(none, [
    { id: "own", organizationId: "o", runtime: "embedded" },
    // Its backups are asked for, and have no schedule here.
    { id: "other", organizationId: "o", runtime: "external" },
  ]);
  const labels = { organization: "o", service: "own" };
  expect(samples.map((sample) => [sample.name, sample.labels, sample.value])).toEqual([
    ["Backup_Verification_Failed", labels, 0],
    ["Backup_Failed", labels, 0],
    ["Backup_Stored_Bytes", labels, 0],
    ["Backup_LastVerified_Timestamp", labels, 0],
  ]);
});
