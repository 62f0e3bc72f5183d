/** What a server that is not embedded needs to make and restore backups. Each refusal says what to do about it. */
import { type ClickHouseAddress, ClickHouseClient } from "../../clickhouse/client.ts";
import { identifier, literal, ownDatabaseList } from "../../clickhouse/sql.ts";
import { detectTopology, replicasOf, shardsOf } from "../../clickhouse/topology.ts";
import { AppError } from "../../lib/errors.ts";
import type { Backup, BackupLocation } from "../../store/backups/backups.ts";
import type { S3Keys } from "../storage/s3-storage.ts";
import { type Bucket, bucketUrl, collectionName, type ServerAccess } from "./bucket-folder.ts";

/** The location of backups, and the keys that servers receive for it. */
export type ServerLocation = {
  readonly location: BackupLocation;
  readonly encrypted: boolean;
  readonly keys: S3Keys | undefined;
};

/** What a server will back up, and how it reaches the bucket. */
export type ServerBackupPlan = {
  readonly bucket: Bucket;
  readonly access: ServerAccess;
  readonly databases: readonly string[];
  /** Tables whose newest rows another replica may have. */
  readonly replicated: readonly { readonly database: string; readonly name: string }[];
};

/** The rights of a restore into this database: what follows GRANT. */
export function restoreGrant(database: string): string {
  const create = "CREATE DATABASE, CREATE TABLE, CREATE VIEW, INSERT";
  const undo = "DROP DATABASE, DROP TABLE, DROP VIEW, ALTER DATABASE";
  return `SHOW, SELECT, ${create}, ${undo} ON ${identifier(database)}.*`;
}

/** The one host of an address that is asked: backups are of one server's state. */
export function oneHost({ others: _, ...address }: ClickHouseAddress): ClickHouseAddress {
  return address;
}

/** `wanted`: databases that must be in the backup. Throws an AppError with the reason and its remedy. */
export async function planServerBackup(
  address: ClickHouseAddress,
  to: ServerLocation,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<ServerBackupPlan> {
  const bucket = bucketOf(to);
  using client = new ClickHouseClient(oneHost(address));
  await refuseShards(client, address);
  const access = await accessOf(client, address, to, bucket, signal);
  const databases = await grantedDatabases(client, address, [address.database ?? "default", ...wanted], signal);
  const replicated = await replicatedTables(client, databases, signal);
  await requireGrants(
    client,
    address,
    replicated.length === 0 ? [] : databases.map((name) => `SYSTEM SYNC REPLICA ON ${identifier(name)}.*`),
  );
  return { bucket, access, databases, replicated };
}

/** How a server reaches a backup that it is to restore into this database. Throws an AppError as above. */
export async function planServerRestore(
  address: ClickHouseAddress,
  backup: Pick<Backup, "id" | "location" | "encrypted" | "baseId">,
  keys: S3Keys | undefined,
  targetDatabase: string,
  signal: AbortSignal,
): Promise<{ readonly bucket: Bucket; readonly access: ServerAccess }> {
  const bucket = requireRestorableAt(backup);
  using client = new ClickHouseClient(oneHost(address));
  await refuseCluster(client, address);
  const access = await accessOf(client, address, { keys }, bucket, signal);
  await requireGrants(client, address, [restoreGrant(targetDatabase)]);
  return { bucket, access };
}

/** Throws an AppError for a location that no distant server can write to. */
export function requireLocation(to: Omit<ServerLocation, "keys">): void {
  bucketOf(to);
}

/** The bucket of a backup that distant servers can read. Throws an AppError for another one. */
export function requireRestorableAt(backup: Pick<Backup, "id" | "location" | "encrypted" | "baseId">): Bucket {
  const bucket = bucketOf(backup);
  if (backup.baseId === null) return bucket;
  const message = `Backup ${backup.id} is incremental, and refers to files of its base where the engine made it. Restore a full backup, or restore this one into an embedded service and move that (service move).`;
  throw new AppError("BAD_REQUEST", message);
}

function bucketOf({ location, encrypted }: Omit<ServerLocation, "keys">): Bucket {
  if (location.kind !== "s3") {
    const message = `The service's server writes and reads backups itself, and does not reach ${location.root} on this machine. Start Millrace with --backup-bucket.`;
    throw new AppError("BAD_REQUEST", message);
  }
  if (!encrypted) return location;
  const message =
    "The service's server cannot write or read backups that Millrace encrypts. Start Millrace without --backup-encryption-key and have the bucket encrypt its objects, or use the server's own BACKUP.";
  throw new AppError("BAD_REQUEST", message);
}

/** A named collection first: its keys are the server's own. */
async function accessOf(
  client: ClickHouseClient,
  { user = "default", isManaged }: ClickHouseAddress,
  { keys }: Pick<ServerLocation, "keys">,
  bucket: Bucket,
  signal: AbortSignal,
): Promise<ServerAccess> {
  // Only collections that the user may use are listed.
  const names = `SELECT name FROM system.named_collections WHERE name = ${literal(collectionName)}`;
  if ((await client.rows(names, { signal })).length > 0) {
    if (await isGranted(client, `NAMED COLLECTION ON ${collectionName}`)) return { kind: "collection" };
  }
  if (keys !== undefined) return { kind: "keys", keys };
  if (isManaged) {
    const message =
      "The pods have no keys for the backup bucket. Start Millrace with --external-backup-access-key-id and --external-backup-secret-access-key.";
    throw new AppError("BAD_REQUEST", message);
  }
  const create = `CREATE NAMED COLLECTION ${collectionName} AS url = ${literal(bucketUrl(bucket))}, access_key_id = '...', secret_access_key = '...'`;
  const grant = `GRANT SHOW NAMED COLLECTIONS, NAMED COLLECTION ON ${collectionName} TO ${identifier(user)}`;
  const message = `The server has no keys for the backup bucket. Run there: ${create}; ${grant}. Or start Millrace with --external-backup-access-key-id and --external-backup-secret-access-key.`;
  throw new AppError("BAD_REQUEST", message);
}

async function refuseShards(client: ClickHouseClient, { database = "default", cluster }: ClickHouseAddress) {
  const topology = await detectTopology(client, { database, cluster });
  const shards = shardsOf(topology);
  if (shards === 1 || topology.isCloud) return;
  const message = `The cluster ${topology.cluster?.name} has ${shards} shards, and a backup is made by one server. Run BACKUP ... ON CLUSTER at the server.`;
  throw new AppError("BAD_REQUEST", message);
}

async function refuseCluster(client: ClickHouseClient, { database = "default", cluster }: ClickHouseAddress) {
  const topology = await detectTopology(client, { database, cluster });
  if (topology.isCloud || (shardsOf(topology) === 1 && replicasOf(topology) === 1)) return;
  const message = `The restored tables would exist on one server of the cluster ${topology.cluster?.name} only. Run RESTORE ... ON CLUSTER at the server, or restore into another service.`;
  throw new AppError("BAD_REQUEST", message);
}

/** Databases whose data the server has itself. Throws CONNECTION_UNAUTHORIZED when a wanted one is not granted. */
async function grantedDatabases(
  client: ClickHouseClient,
  address: ClickHouseAddress,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const grantOf = (name: string) => `BACKUP ON ${identifier(name)}.*`;
  await requireGrants(client, address, [...new Set(wanted)].map(grantOf));
  const rows = await client.rows<{ name: string }>(
    `SELECT name FROM system.databases
     WHERE name NOT IN ${ownDatabaseList} AND engine IN ('Atomic', 'Replicated', 'Shared', 'Ordinary', 'Overlay') ORDER BY name`,
    { signal },
  );
  const granted: string[] = [];
  for (const { name } of rows) if (await isGranted(client, grantOf(name))) granted.push(name);
  return granted;
}

async function replicatedTables(client: ClickHouseClient, databases: readonly string[], signal: AbortSignal) {
  const among = databases.map(literal).join(", ");
  return await client.rows<{ database: string; name: string }>(
    `SELECT database, name FROM system.tables
     WHERE database IN (${among}) AND (engine LIKE 'Replicated%' OR engine LIKE 'Shared%MergeTree')`,
    { signal },
  );
}

async function requireGrants(client: ClickHouseClient, { user = "default" }: ClickHouseAddress, rights: string[]) {
  const missing: string[] = [];
  for (const right of rights) if (!(await isGranted(client, right))) missing.push(right);
  if (missing.length === 0) return;
  const statements = missing.map((right) => `GRANT ${right} TO ${identifier(user)}`).join("; ");
  throw new AppError("CONNECTION_UNAUTHORIZED", `The user ${user} of the connection lacks rights; run: ${statements}.`);
}

async function isGranted(client: ClickHouseClient, right: string): Promise<boolean> {
  const [answer] = await client.rows<{ result: number }>(`CHECK GRANT ${right}`);
  return Number(answer?.result) === 1;
}
