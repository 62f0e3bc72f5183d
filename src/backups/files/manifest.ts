/**
 * The manifest of a backup: everything needed to check and restore it when the metadata is lost. It is written last and
 * in one step, so a folder without one was left by an interrupted run. With encryption on, the manifest is encrypted as
 * well, and only its head can be read without the key.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { traitsOf } from "../../api/runtimes.ts";
import type { Backup } from "../../store/backups/backups.ts";
import type { Service } from "../../store/services/services.ts";
import type { BackupStorage } from "../storage/storage.ts";

export const manifestFormat = "millrace-backup/1";
export const manifestName = "manifest.json";
export const servicesFolder = "services/";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const member = z.object({ id: z.uuid(), name: z.string().regex(/^[\w.-]+$/) });

/** The form of a manifest, decrypted. */
export const manifestSchema = z.object({
  format: z.literal(manifestFormat),
  ...member.shape,
  type: z.enum(["full", "incremental"]),
  trigger: z.enum(["schedule", "request"]),
  /** The backups that this one needs, the full one first; empty for a full one. */
  chain: z.array(member),
  organizationId: z.uuid(),
  startedAt: z.string(),
  finishedAt: z.string(),
  engineVersion: z.string(),
  service: z.object({
    id: z.uuid(),
    name: z.string(),
    minReplicaMemoryGb: z.int(),
    maxReplicaMemoryGb: z.int(),
    idleScaling: z.boolean(),
    idleTimeoutMinutes: z.int(),
  }),
  /** Made by a server that is not a process of ours. */
  isExternal: z.literal(true).optional(),
  /** Definitions of SQL functions, which the engine's own backup omits. */
  functions: z.array(z.string()),
  /** Rows per table at the time of the snapshot; null where the table's storage does not record them. */
  tables: z.array(z.object({ database: z.string(), table: z.string(), rows: z.number().nullable() })),
  /** Contents of small files by the engine's checksum: the next increment gets from them the rows of shared parts. */
  counts: z.record(z.string(), z.number()),
  /** Bytes of everything that the backup restores. */
  totalBytes: z.number(),
  /**
   * Every file of this backup: its name for the engine, its key below the backup's folder, and its stored size and
   * checksum.
   */
  files: z.array(z.object({ path: z.string(), stored: z.string(), size: z.int(), sha256 })),
});
export type Manifest = z.output<typeof manifestSchema>;
export type ManifestFile = Manifest["files"][number];

/** The manifest of a backup that ends now; a base makes its chain. */
export function manifestOf(
  row: Backup,
  service: Service,
  contents: Pick<Manifest, "functions" | "tables" | "counts" | "totalBytes" | "files">,
  base?: Manifest,
): Manifest {
  return {
    format: manifestFormat,
    id: row.id,
    name: row.name,
    type: row.type,
    trigger: row.trigger,
    chain: base === undefined ? [] : [...base.chain, { id: base.id, name: base.name }],
    organizationId: service.organizationId,
    startedAt: row.startedAt,
    finishedAt: new Date().toISOString(),
    engineVersion: service.databaseVersion,
    ...(traitsOf(service).makesOwnBackups ? { isExternal: true as const } : {}),
    service: {
      id: service.id,
      name: service.name,
      minReplicaMemoryGb: service.minReplicaMemoryGb,
      maxReplicaMemoryGb: service.maxReplicaMemoryGb,
      idleScaling: service.idleScaling,
      idleTimeoutMinutes: service.idleTimeoutMinutes,
    },
    ...contents,
  };
}

const sealedSchema = z.object({
  format: z.literal(manifestFormat),
  id: z.uuid(),
  encrypted: z.literal(true),
  sealed: z.string(),
});

/** The manifest exists and cannot be used: modified, truncated, of another version, or encrypted with another key. */
export class BadManifest extends Error {
  constructor(folder: string, reason: string, options?: ErrorOptions) {
    super(`${folder}${manifestName}: ${reason}`, options);
    this.name = "BadManifest";
  }
}

/** `services/<service id>/<backup name>/` */
export function backupFolder(serviceId: string, name: string): string {
  return `${servicesFolder}${serviceId}/${name}/`;
}

/** One key per backup, so that no two backups share nonces. */
export function backupKey(master: Buffer, backupId: string): Buffer {
  return Buffer.from(hkdfSync("sha256", master, backupId, "millrace backup", 32));
}

/** Total size of the stored files, without the manifest. */
export function storedBytes(manifest: Manifest): number {
  return manifest.files.reduce((sum, file) => sum + file.size, 0);
}

export function encodeManifest(manifest: Manifest, master: Buffer | undefined): Buffer {
  const plain = Buffer.from(JSON.stringify(manifest));
  if (master === undefined) return plain;
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", backupKey(master, manifest.id), iv).setAAD(Buffer.from(manifest.id));
  const sealed = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64");
  return Buffer.from(JSON.stringify({ format: manifestFormat, id: manifest.id, encrypted: true, sealed }));
}

/** Reads and checks a manifest. Throws `MissingFile` or `BadManifest`. */
export async function readManifest(
  storage: BackupStorage,
  folder: string,
  master: Buffer | undefined,
  signal: AbortSignal,
): Promise<Manifest> {
  const bytes = await buffer(await storage.read(folder + manifestName, signal));
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new BadManifest(folder, "is not JSON", { cause });
  }
  const sealed = sealedSchema.safeParse(value);
  if (sealed.success) value = unseal(folder, sealed.data, master);
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) throw new BadManifest(folder, "is not a manifest of this version", { cause: parsed.error });
  return parsed.data;
}

function unseal(folder: string, head: z.output<typeof sealedSchema>, master: Buffer | undefined): unknown {
  if (master === undefined) throw new BadManifest(folder, "is encrypted, and no backup encryption key is configured");
  const bytes = Buffer.from(head.sealed, "base64");
  try {
    const decipher = createDecipheriv("aes-256-gcm", backupKey(master, head.id), bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from(head.id)).setAuthTag(bytes.subarray(-16));
    return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString("utf8"));
  } catch (cause) {
    throw new BadManifest(folder, "was changed or is sealed with another key", { cause });
  }
}
