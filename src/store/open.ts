/** Opens the store: one database, and an object for each kind of row. */
import { join } from "node:path";
import { savedObjectKinds } from "../api/saved-objects.ts";
import { ActivityStore } from "./access/activities.ts";
import { AuditEventStore } from "./access/audit-events.ts";
import { CloudMemberStore } from "./access/cloud-members.ts";
import { ConsoleSessionStore } from "./access/console-sessions.ts";
import { CredentialStore } from "./access/credentials.ts";
import { adoptKey, requireSameKey } from "./access/key-check.ts";
import { OrganizationStore } from "./access/organizations.ts";
import { BackupStore } from "./backups/backups.ts";
import { RestoreStore } from "./backups/restores.ts";
import { countingWrites, type Database, openDatabase, takeLock } from "./database/database.ts";
import type { MigrationStep } from "./database/migrate.ts";
import { requireNotMoved } from "./database/move-store.ts";
import { loadOrCreateKey, Sealer } from "./database/secrets.ts";
import { allLeases, type Leases, SharedLeases } from "./nodes/leases.ts";
import { adoptServices, nodeIdOf } from "./nodes/node-id.ts";
import {
  fenced,
  type NodeAddresses,
  NodeLease,
  type NodeRole,
  nodeAddress,
  type PipeSelection,
} from "./nodes/nodes.ts";
import { CdcScalingStore } from "./pipes/cdc-scaling.ts";
import { ErrorRequestStore } from "./pipes/error-requests.ts";
import { Ledger } from "./pipes/ledger.ts";
import { LeftoverStore } from "./pipes/leftovers.ts";
import { BatchStore } from "./pipes/pipe-batches.ts";
import { PipeOverviews } from "./pipes/pipe-overviews.ts";
import { PipeReports } from "./pipes/pipe-reports.ts";
import { PipeSnapshots } from "./pipes/pipe-snapshots.ts";
import { PipeStore } from "./pipes/pipes.ts";
import { AlertEvaluations } from "./saved/alert-evaluations.ts";
import { AlertStore } from "./saved/alerts.ts";
import { ChartSourceStore } from "./saved/chart-sources.ts";
import { HistoryStore } from "./saved/history.ts";
import { pipeSeries, serviceSeries } from "./saved/history-series.ts";
import { SavedObjectStore } from "./saved/saved-objects.ts";
import { WebhookStore } from "./saved/webhooks.ts";
import { QueryEndpointStore } from "./services/query-endpoints.ts";
import { ConnectionPasswords } from "./services/service-connections.ts";
import { ServiceFactsStore } from "./services/service-facts.ts";
import { ServiceMoveContents } from "./services/service-move-contents.ts";
import { ServiceMoves } from "./services/service-moves.ts";
import { ServiceStore } from "./services/services.ts";
import { SqlAccessStore } from "./services/sql-access.ts";

export type Stores = ReturnType<typeof storesOf>;

export type LeasedStores = Stores & {
  /** What this process runs, and others do not. */
  readonly leases: Leases;
  /** Call every `renewEveryMs`. Throws LEASE_LOST when another process uses the data directory: this one must stop. */
  renew(): Promise<void>;
  /** Tells the other processes where this one can be reached. */
  announce(addresses: NodeAddresses): Promise<void>;
  /** Where the process of another data directory can be reached; undefined: not known. */
  addressOf(nodeId: string): Promise<string | undefined>;
};

export type StoresOptions = {
  readonly dataDir: string;
  /** Default: a tool, which has the database for itself. */
  readonly role?: NodeRole;
  readonly version?: string;
  /** Pipes of external services that this process runs at most; undefined: no limit. */
  readonly slots?: number | undefined;
  readonly takes?: PipeSelection | undefined;
  /** In base64; without one, a key file in the folder is read or created. On Postgres it is required. */
  readonly secretKey: string | undefined;
  /** URL of a Postgres database; without one, SQLite in the folder. */
  readonly database?: string | undefined;
  /** On Postgres: a failover may lose confirmed transactions. */
  readonly allowsAsyncReplication?: boolean | undefined;
  /** Told the steps that bring a database of an earlier version to the current schema. */
  readonly onStep?: (step: MigrationStep) => void;
  /** Told of a connection to Postgres that breaks while nobody uses it. */
  readonly onLost?: (error: Error) => void;
  /** Told that the secret key is another one than at the last start, on SQLite. */
  readonly onOtherKey?: () => void;
};

/** Opens the store that the options name. Close it at the end. */
export async function openStoresOf(options: StoresOptions): Promise<LeasedStores> {
  const {
    dataDir,
    secretKey,
    database,
    onStep = () => {},
    onLost = () => {},
    allowsAsyncReplication = false,
  } = options;
  if (database === undefined) {
    const db = openDatabase(join(dataDir, "millrace.db"), { onStep });
    return await leasedStores(db, options, true);
  }
  if (secretKey === undefined) {
    throw new Error(
      "--database needs the key that encrypts stored secrets: set MILLRACE_SECRET_KEY, 32 bytes in base64",
    );
  }
  // Loaded here: a server on SQLite does not need the driver.
  const { openPostgres } = await import("./postgres/postgres-database.ts");
  // Engines and workers of the directory belong to one process.
  const lock = takeLock(join(dataDir, "millrace.lock"));
  const opened = openPostgres(database, { onStep, onLost, allowsAsyncReplication });
  const db = await opened.catch((error: unknown) => {
    lock.close();
    throw error;
  });
  const close = () => db.close().finally(() => lock.close());
  return await leasedStores({ ...db, close }, options, false);
}

/**
 * Stores whose every write compares the fence of the process. A database that is exclusive has been opened by this
 * process alone.
 */
async function leasedStores(db: Database, options: StoresOptions, isExclusive: boolean): Promise<LeasedStores> {
  const { dataDir, secretKey, role = "tool", version = "", slots, takes, onOtherKey } = options;
  try {
    await requireNotMoved(db);
    const key = keyOf(dataDir, secretKey);
    const sealer = new Sealer(key);
    if (!isExclusive) await requireSameKey(db, sealer);
    // On SQLite, a lost key is replaced by a new one, and secrets are set again.
    else if (onOtherKey !== undefined && (await adoptKey(db, sealer))) onOtherKey();
    const node = await NodeLease.claim(db, { id: nodeIdOf(dataDir), role, version, isExclusive });
    const own = fenced(db, node);
    const isAlone = isExclusive || role === "tool";
    const shared = isAlone ? undefined : new SharedLeases({ db: own, nodeId: node.id, slots, takes });
    const leases = shared ?? allLeases(node.id, node.fence);
    await beginOn(own, node.id, isExclusive);
    const stores = storesOf(own, dataDir, key, leases);
    return {
      ...stores,
      leases,
      renew: async () => {
        await node.renew();
        await shared?.renew();
      },
      announce: (addresses) => node.announce(addresses),
      addressOf: (nodeId) => nodeAddress(db, nodeId),
      close: async () => {
        // Without it, the others wait for the end of the leases.
        await shared?.releaseAll().catch(() => {});
        await node.release().catch(() => {});
        await stores.close();
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Ends what the process before on the data directory holds, and takes over the engines of all services on SQLite. */
async function beginOn(db: Database, nodeId: string, isExclusive: boolean): Promise<void> {
  const held = isExclusive ? "1 = 1 OR" : "";
  await db.run(`DELETE FROM pipe_holds WHERE ${held} substr(hold_id, 1, ?) = ?`, nodeId.length, nodeId);
  if (isExclusive) await adoptServices(db, nodeId);
}

/** The key in base64, or that of the key file in the folder, which is made if it is missing. */
export function keyOf(dataDir: string, secretKey: string | undefined): Buffer {
  return secretKey === undefined ? loadOrCreateKey(join(dataDir, "secret.key")) : Buffer.from(secretKey, "base64");
}

function storesOf(db: Database, dataDir: string, key: Buffer, leases: Leases) {
  const sealer = new Sealer(key);
  const definitions = countingWrites(db);
  const ledger = countingWrites(db);
  const access = countingWrites(db);
  const pipeHistory = new HistoryStore(join(dataDir, "history", "pipes"), pipeSeries);
  const serviceHistory = new HistoryStore(join(dataDir, "history", "services"), serviceSeries);
  return {
    db,
    /** Encrypts secrets, 32 bytes. */
    secretKey: key,
    organizations: new OrganizationStore(db),
    credentials: new CredentialStore(access),
    consoleSessions: new ConsoleSessionStore(access),
    /** Raised by every write of keys, tokens and sessions. */
    accessRevision: () => access.revision(),
    services: new ServiceStore(definitions, leases),
    sqlAccess: new SqlAccessStore(definitions),
    connectionPasswords: new ConnectionPasswords(sealer),
    serviceMoves: new ServiceMoves(definitions),
    serviceMoveContents: new ServiceMoveContents(db),
    pipes: new PipeStore(definitions, sealer, leases),
    pipeOverviews: new PipeOverviews(db),
    serviceFacts: new ServiceFactsStore(db),
    /** Raised by writes of services and pipes: definitions, desired states, states. Batches do not raise it. */
    definitionRevision: () => definitions.revision(),
    /** Raised by writes of pipe workers: batches, counters. */
    ledgerRevision: () => ledger.revision(),
    pipeReports: new PipeReports(db),
    pipeSnapshots: new PipeSnapshots(definitions, sealer),
    ledger: new Ledger(ledger, leases),
    errorRequests: new ErrorRequestStore(db),
    batches: new BatchStore(db),
    leftovers: new LeftoverStore(db, sealer),
    pipeHistory,
    serviceHistory,
    activities: new ActivityStore(db),
    auditEvents: new AuditEventStore(db),
    backups: new BackupStore(db),
    restores: new RestoreStore(db),
    chartSources: new ChartSourceStore(db),
    cloudMembers: new CloudMemberStore(db),
    queryEndpoints: new QueryEndpointStore(db),
    cdcScaling: new CdcScalingStore(definitions),
    close: async () => {
      for (const history of [pipeHistory, serviceHistory]) history.close();
      await db.close();
    },
    savedObjects: new SavedObjectStore(db, savedObjectKinds),
    savedSearches: new SavedObjectStore(db, ["savedSearch"]),
    dashboards: new SavedObjectStore(db, ["tiledDashboard"]),
    webhooks: new WebhookStore(db, sealer),
    alerts: new AlertStore(db),
    alertEvaluations: new AlertEvaluations(db),
  };
}
