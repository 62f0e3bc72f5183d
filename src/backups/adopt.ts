/** Assigns backups of organizations unknown to this installation to one of its own, on the operator's request. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OrganizationStore } from "../store/access/organizations.ts";
import { BackupStore } from "../store/backups/backups.ts";
import { openStoresOf } from "../store/open.ts";
import { rescan } from "./catalogue.ts";
import type { BackupTarget } from "./storage/location.ts";

export type AdoptOptions = {
  readonly backupLocation: BackupTarget;
  readonly dataDir: string;
  readonly secretKey?: string | undefined;
  /** Undefined: the metadata is in the data directory. */
  readonly database?: string | undefined;
  readonly allowsAsyncReplication?: boolean | undefined;
  readonly organizationId: string;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
};

/** Throws when the server runs, or when the organization does not exist. */
export async function adoptBackups({
  backupLocation,
  dataDir,
  secretKey,
  database,
  allowsAsyncReplication,
  organizationId,
  tell,
  signal,
}: AdoptOptions): Promise<void> {
  if (database === undefined && !existsSync(join(dataDir, "millrace.db"))) {
    throw new Error(`${dataDir} is not a data directory: it has no millrace.db`);
  }
  const { db, close } = await openStoresOf({ dataDir, secretKey, database, allowsAsyncReplication });
  try {
    const known = new Set((await new OrganizationStore(db).list()).map((row) => row.id));
    if (!known.has(organizationId)) throw new Error(`organization ${organizationId} does not exist`);
    const ownerOf = (id: string) => (known.has(id) ? id : organizationId);
    const found = await rescan(
      { backupLocation, backups: new BackupStore(db) },
      { ownerOf, names: () => true },
      signal,
    );
    tell(`Added ${found.adopted} backups.`);
    for (const line of found.unreadable) tell(`Unreadable: ${line}`);
  } finally {
    await close();
  }
}
