/** Opens the store: one database, and an object for each kind of row. */
import { join } from "node:path";
import { AuditEventStore } from "./audit-events.ts";
import { BackupStore } from "./backups.ts";
import { ChartSourceStore } from "./chart-sources.ts";
import { CredentialStore } from "./credentials.ts";
import { type Database, openDatabase } from "./database.ts";
import { Ledger } from "./ledger.ts";
import { LeftoverStore } from "./leftovers.ts";
import { OrganizationStore } from "./organizations.ts";
import { PipeSnapshots } from "./pipe-snapshots.ts";
import { PipeStore } from "./pipes.ts";
import { RestoreStore } from "./restores.ts";
import { loadOrCreateKey, Sealer } from "./secrets.ts";
import { ServiceStore } from "./services.ts";

export type Stores = {
  readonly db: Database;
  /** Encrypts secrets, 32 bytes. */
  readonly secretKey: Buffer;
  readonly organizations: OrganizationStore;
  readonly credentials: CredentialStore;
  readonly services: ServiceStore;
  readonly pipes: PipeStore;
  readonly pipeSnapshots: PipeSnapshots;
  readonly ledger: Ledger;
  readonly leftovers: LeftoverStore;
  readonly auditEvents: AuditEventStore;
  readonly backups: BackupStore;
  readonly restores: RestoreStore;
  readonly chartSources: ChartSourceStore;
};

/** `secretKey` is in base64; without one, a key file in the folder is read or created. Close `db` at the end. */
export function openStores(dataDir: string, secretKey: string | undefined): Stores {
  const db = openDatabase(join(dataDir, "millrace.db"));
  const key = secretKey === undefined ? loadOrCreateKey(join(dataDir, "secret.key")) : Buffer.from(secretKey, "base64");
  const sealer = new Sealer(key);
  return {
    db,
    secretKey: key,
    organizations: new OrganizationStore(db),
    credentials: new CredentialStore(db),
    services: new ServiceStore(db),
    pipes: new PipeStore(db, sealer),
    pipeSnapshots: new PipeSnapshots(db, sealer),
    ledger: new Ledger(db),
    leftovers: new LeftoverStore(db, sealer),
    auditEvents: new AuditEventStore(db),
    backups: new BackupStore(db),
    restores: new RestoreStore(db),
    chartSources: new ChartSourceStore(db),
  };
}
