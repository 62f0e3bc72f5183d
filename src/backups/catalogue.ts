/** Rebuilds the catalogue from the backups at the location, after the metadata is lost. */
import type { Backup, BackupStore } from "../store/backups/backups.ts";
import {
  BadManifest,
  type Manifest,
  manifestName,
  readManifest,
  servicesFolder,
  storedBytes,
} from "./files/manifest.ts";
import type { BackupTarget } from "./storage/location.ts";
import { MissingFile, sameLocation } from "./storage/storage.ts";

/** A folder without a manifest is being written, or was left by a killed run: after this time it is garbage. */
const garbageAfterMs = 24 * 3_600_000;

export type Rescan = { readonly adopted: number; readonly removed: number; readonly unreadable: string[] };

/** Whose backups a scan may add and report: a location may hold those of other organizations and installations. */
export type RescanScope = {
  /** The organization that gets a backup of this one; undefined: the backup is ignored. */
  readonly ownerOf: (organizationId: string) => string | undefined;
  /** True when an unreadable backup of the service appears in the result. */
  readonly names: (serviceId: string) => boolean;
};

/**
 * Adds the location's backups that are missing in the catalogue, within the scope, and records the new location of
 * moved ones. Added backups count as restorable only after a check, which follows automatically.
 */
export async function rescan(
  deps: { backupLocation: BackupTarget; backups: BackupStore },
  scope: RescanScope,
  signal: AbortSignal,
): Promise<Rescan> {
  const { backupLocation, backups } = deps;
  const storage = backupLocation.current;
  const known = new Map((await backups.listAll()).map((row) => [`${row.serviceId}/${row.name}`, row]));
  const folders = Map.groupBy(await storage.list(servicesFolder, signal), ({ key }) =>
    key.split("/").slice(0, 3).join("/"),
  );
  let adopted = 0;
  let removed = 0;
  const unreadable: string[] = [];
  for (const [path, files] of folders) {
    const folder = `${path}/`;
    const row = known.get(folder.slice(servicesFolder.length, -1));
    if (row !== undefined) {
      if (row.status === "done" && !sameLocation(row.location, backupLocation.location)) {
        await backups.relocate(row.id, backupLocation.location);
      }
      continue;
    }
    if (!files.some((file) => file.key === folder + manifestName)) {
      const youngest = Math.max(...files.map((file) => file.modifiedAt.getTime()));
      if (Date.now() - youngest < garbageAfterMs) continue;
      await storage.removeAll(folder, signal);
      removed += 1;
      continue;
    }
    try {
      const manifest = await readManifest(storage, folder, backupLocation.encryptionKey, signal);
      const organizationId = scope.ownerOf(manifest.organizationId);
      if (organizationId === undefined) continue;
      const manifestBytes = files.find((file) => file.key === folder + manifestName)?.size ?? 0;
      await backups.insert(rowOf(manifest, organizationId, backupLocation, manifestBytes));
      adopted += 1;
    } catch (error) {
      if (!(error instanceof BadManifest || error instanceof MissingFile)) throw error;
      if (scope.names(path.split("/")[1] ?? "")) unreadable.push(error.message);
    }
  }
  return { adopted, removed, unreadable };
}

function rowOf(manifest: Manifest, organizationId: string, backupLocation: BackupTarget, manifestBytes: number) {
  return {
    id: manifest.id,
    organizationId,
    serviceId: manifest.service.id,
    serviceName: manifest.service.name,
    name: manifest.name,
    trigger: manifest.trigger,
    status: "done",
    type: manifest.type,
    baseId: manifest.chain.at(-1)?.id ?? null,
    location: backupLocation.location,
    // An encrypted manifest needs the key; a plain one belongs to a plain backup.
    encrypted: !manifest.files.some((file) => file.stored.endsWith(file.path)),
    startedAt: manifest.startedAt,
    finishedAt: manifest.finishedAt,
    sizeBytes: storedBytes(manifest) + manifestBytes,
    totalBytes: manifest.totalBytes,
  } satisfies Partial<Backup>;
}
