/** `rescan` assigns an organization its own backups at the location, and reveals nothing of the rest. */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adoptBackups } from "../../src/backups/adopt.ts";
import { BackupTarget, backupLocationOptions } from "../../src/backups/storage/location.ts";
import { type Api, startApi } from "./harness.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** A backup at the location; `text` replaces the manifest and makes it unreadable. Returns the service's id. */
function backupOf(organizationId: string, options: { serviceId?: string; text?: string } = {}): string {
  const serviceId = options.serviceId ?? randomUUID();
  const id = randomUUID();
  const folder = join(api.backupDir, "services", serviceId, id);
  const limits = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, idleScaling: false, idleTimeoutMinutes: 5 };
  const manifest = {
    ...{ format: "millrace-backup/1", id, name: id, type: "full", trigger: "request", chain: [], organizationId },
    ...{ startedAt: "2026-01-01T00:00:00.000Z", finishedAt: "2026-01-01T00:00:01.000Z", engineVersion: "1" },
    service: { id: serviceId, name: "theirs", ...limits },
    ...{ functions: [], tables: [], counts: {}, totalBytes: 1, files: [] },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "manifest.json"), options.text ?? JSON.stringify(manifest));
  return serviceId;
}

test("backups of known and of unknown organizations stay where they are, and unreadable ones of others have no name", async () => {
  const other = await api.organizations.create("Other");
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "mine" } });
  const mine = body.result.service.id as string;
  const gone = backupOf(api.organizationId);
  const foreign = [backupOf(other.id), backupOf(randomUUID()), backupOf(other.id, { text: "{" })];
  backupOf(api.organizationId, { serviceId: mine, text: "{" });
  const answer = await api.call("POST", "/v1/organizations/{o}/backups/rescan");
  expect(answer.body.result).toMatchObject({ adopted: 1, unreadable: [expect.stringContaining(mine)] });
  for (const id of foreign) expect(JSON.stringify(answer.body)).not.toContain(id);
  const listed = await api.call("GET", "/v1/organizations/{o}/backups");
  expect(listed.body.result.map((backup: { serviceId: string }) => backup.serviceId)).toEqual([gone]);
  expect(await api.backups.listInOrganization(other.id)).toEqual([]);
});

test("an operator's command needs a data directory", async () => {
  const backupLocation = new BackupTarget(backupLocationOptions({ backupBucketRegion: "" }, api.backupDir));
  const options = { backupLocation, dataDir: api.backupDir, organizationId: api.organizationId, tell: () => {} };
  const adopting = adoptBackups({ ...options, signal: new AbortController().signal });
  await expect(adopting).rejects.toThrow(/is not a data directory/);
});
