/** Backups in tests: created, awaited, restored, damaged. */
import { type Dirent, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiClient } from "../src/api/client.ts";
import { type BenchService, type Served, until } from "./serve.ts";

export type Backup = Awaited<ReturnType<ApiClient["getBackup"]>>;

/** Makes a backup now and waits until it has ended and was checked. */
export async function backUp(served: Served, service: BenchService): Promise<Backup> {
  const { params } = service;
  const { id } = await served.api.createBackup({ params });
  return await ended(served, service, id);
}

/** Waits until a backup has ended, and, when it is done, was checked. */
export async function ended(served: Served, service: BenchService, backupId: string): Promise<Backup> {
  const get = () => served.api.getBackup({ params: { ...service.params, backupId } });
  await until("the backup has ended and is checked", async () => {
    const { status, verification } = await get();
    return status === "error" || (status === "done" && verification !== "pending");
  });
  return await get();
}

/** Requests a check and waits for it. */
export async function verify(served: Served, service: BenchService, backupId: string, deep: boolean): Promise<Backup> {
  const params = { ...service.params, backupId };
  await served.api.verifyBackup({ params, body: { deep } });
  const wanted = async () => (await served.api.getBackup({ params })).checkRequested;
  await until("the check is over", async () => (await wanted()) === undefined);
  return await served.api.getBackup({ params });
}

/** A new service restored from a backup, once it runs. */
export async function restored(served: Served, backupId: string, body: object = {}): Promise<BenchService> {
  const { organizationId } = served.credentials;
  const request = { name: "restored", backupId, ...body };
  const { service, password } = await served.api.createService({ params: { organizationId }, body: request });
  const params = { organizationId, serviceId: service.id };
  const isRunning = async () => {
    const now = await served.api.getService({ params });
    if (now.state === "failed") throw new Error(`restore failed: ${now.stateMessage}`);
    return now.state === "running";
  };
  // Long enough for every attempt at a backup that cannot be restored, including the pauses between them.
  await until("the restored service runs", isRunning, 240_000);
  const { host, port } = service.endpoints[0] as { host: string; port: number };
  return { id: service.id, params, host, port, password };
}

/** The folder of a backup in the default local location. */
export function folderOf(served: Served, backup: { serviceId: string; backupName: string }): string {
  return join(served.dataDir, "backups", "services", backup.serviceId, backup.backupName);
}

/**
 * Files below a folder whose path matches, largest first. The folder may change while it is read: what has gone by then
 * is left out.
 */
export function filesBelow(folder: string, pattern = /./): string[] {
  return filesWithSizes(folder)
    .filter(({ path }) => pattern.test(path))
    .sort((a, b) => b.size - a.size)
    .map(({ path }) => path);
}

function filesWithSizes(folder: string): { path: string; size: number }[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesWithSizes(path);
    const size = entry.isFile() ? statSync(path, { throwIfNoEntry: false })?.size : undefined;
    return size === undefined ? [] : [{ path, size }];
  });
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Flips one bit in the middle of a file. */
export function flipBit(path: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
}
