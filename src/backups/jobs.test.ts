/** What jobs leave on this machine. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newService } from "../../harness/new-pipe.ts";
import { openTestStores } from "../../harness/stores.ts";
import { loadConfig } from "../config.ts";
import { createLogger } from "../lib/logger.ts";
import type { Backup } from "../store/backups/backups.ts";
import type { LeasedStores } from "../store/open.ts";
import type { DesiredServiceState, Service } from "../store/services/services.ts";
import { type Backups, openBackups } from "./open.ts";
import { planRestore } from "./plan.ts";
import { newBackupOf } from "./reconciler.ts";

const { signal } = new AbortController();
let dataDir: string;
let stores: LeasedStores;
let backups: Backups;
/** What happens when a job asks for the engine, which then does not start. */
let onEngine: (serviceId: string, staging: string) => Promise<void>;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "millrace-jobs-"));
  stores = await openTestStores(dataDir);
  const engine = async (serviceId: string) => {
    await onEngine(serviceId, stagingOf(serviceId));
    throw new Error("there is no engine");
  };
  const logger = createLogger("silent");
  backups = openBackups({ config: loadConfig({}, {}), dataDir, stores, logger, version: "0.0.0", engine });
});
afterAll(async () => {
  await backups.close();
  await stores.db.close();
  rmSync(dataDir, { recursive: true });
});

const stagingOf = (serviceId: string) => join(dataDir, "backups", ".staging", serviceId);

async function serviceWithBackup(): Promise<{ service: Service; row: Backup }> {
  const service = (await stores.services.find(await newService(stores))) as Service;
  const planned = { ...newBackupOf(service, backups.jobs.plannedFacts()), trigger: "request" } as const;
  const id = (await stores.backups.request(planned)) as string;
  return { service, row: (await stores.backups.find(id)) as Backup };
}

test.each([
  ["stays, empty, for the engine that is bound to it", "running", true],
  ["is removed with a service that was deleted meanwhile", "deleted", false],
] satisfies [string, DesiredServiceState, boolean][])("the staging folder of a backup %s", async (_, wanted, stays) => {
  const { service, row } = await serviceWithBackup();
  onEngine = async (id, staging) => {
    writeFileSync(join(staging, "data.bin"), "x");
    await stores.services.setDesired(id, wanted);
  };
  await backups.jobs.backup(row, service, signal);
  expect((await stores.backups.find(row.id))?.status).toBe("error");
  expect(existsSync(stagingOf(service.id))).toBe(stays);
});

test.each([
  ["new", (row, service) => backups.jobs.backup(row, service, signal)],
  ["interrupted", (row) => backups.jobs.failInterrupted(row, signal)],
] satisfies [string, (row: Backup, service: Service) => Promise<void>][])(
  "a backup that is %s has failed when its staging folder cannot be used",
  async (_, make) => {
    const { service, row } = await serviceWithBackup();
    mkdirSync(dirname(stagingOf(service.id)), { recursive: true });
    writeFileSync(stagingOf(service.id), "not a folder");
    await make(row, service);
    const failed = (await stores.backups.find(row.id)) as Backup;
    expect([failed.status, failed.error === null]).toEqual(["error", false]);
    const planning = planRestore({} as never, { scope: "service", forced: true, pipes: "none" }, failed, signal);
    await expect(planning).rejects.toThrow("cannot be restored: it failed");
  },
);

test("an interrupted backup of a deleted service leaves no staging folder", async () => {
  const { service, row } = await serviceWithBackup();
  await stores.services.setDesired(service.id, "deleted");
  await backups.jobs.failInterrupted(row, signal);
  expect(existsSync(stagingOf(service.id))).toBe(false);
});
