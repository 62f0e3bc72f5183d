/**
 * Services. `desired_state` and `wake_requested` are requests, written by handlers and the gateway; `state` and the
 * columns beside it are facts, written by the services reconciler alone.
 */

import { randomUUID } from "node:crypto";
import type { AccessListEntry } from "../../api/ip-access.ts";
import type { RuntimeKind } from "../../api/runtimes.ts";
import type { ServiceState } from "../../api/services.ts";
import { withVersion } from "../database/column-shapes.ts";
import { columnsOf, insertRow, readFlag, recordReader } from "../database/columns.ts";
import { type Database, type Queries, runAndTell, type SqlValue, type StoredColumns } from "../database/database.ts";
import { keptList } from "../database/kept-list.ts";
import { type Limit, type OrganizationLimits, requireRoom, reservedBy } from "../database/limits.ts";
import { findRecord, listRecords, Store, updateRows } from "../database/records.ts";
import { type ExpectedVersions, updateVersioned } from "../database/versioned-rows.ts";
import { allLeases, type Leases } from "../nodes/leases.ts";
import {
  connectionMembers,
  type ManagedConnection,
  type NewServer,
  type ServiceConnection,
} from "./service-connections.ts";
import { type JsonColumns, readMembers } from "./service-members.ts";
import { type EngineFacts, writeEngineFacts, writeServiceState } from "./service-states.ts";
import {
  addServiceUser,
  type NewServiceUser,
  readServiceUsers,
  removeServiceUser,
  type ServiceUser,
  setServicePassword,
} from "./service-users.ts";

type ServiceRow = StoredColumns & JsonColumns;

export type DesiredServiceState = "running" | "stopped" | "deleted";

export type Tag = { readonly key: string; readonly value?: string | undefined };

export type Service = {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly provider: string;
  readonly region: string;
  readonly port: number;
  /** Port of the native protocol; null until the gateway has chosen it. */
  readonly nativePort: number | null;
  readonly runtime: RuntimeKind;
  /** How the server of an external service is reached. */
  readonly connection: ServiceConnection | null;
  /** Sealed: see `ConnectionPasswords`. */
  readonly connectionPassword: string | null;
  /** How the hosts of a service in Kubernetes are reached; null until one has answered. */
  readonly managedConnection: ManagedConnection | null;
  readonly minReplicaMemoryGb: number;
  readonly maxReplicaMemoryGb: number;
  readonly numReplicas: number;
  readonly idleScaling: boolean;
  readonly idleTimeoutMinutes: number;
  readonly ipAccessList: readonly AccessListEntry[];
  readonly tags: readonly Tag[];
  readonly releaseChannel: string | null;
  /** Disk quota in GiB. */
  readonly diskGb: number | null;
  /** As last known; up to 1 % and some seconds older than what `ServiceDisks` knows. */
  readonly diskUsedBytes: number | null;
  /** Rows of its tables, as its engine has said last. */
  readonly tableRows: number | null;
  readonly desiredState: DesiredServiceState;
  readonly wakeRequested: boolean;
  /** Last use through a process that does not write the state. */
  readonly usedElsewhereAt: string | null;
  readonly state: ServiceState;
  readonly stateMessage: string | null;
  /** Null: not recorded. */
  readonly stateChangedAt: string | null;
  /** Empty until an engine has run. */
  readonly databaseVersion: string;
  /** Raised by every requested change. */
  readonly version: number;
  /** The node whose data directory contains the engine's data; null for an external service. */
  readonly nodeId: string | null;
  readonly createdAt: string;
};

/** Members that requests choose and change. */
type Setting =
  | "name"
  | "port"
  | "ipAccessList"
  | "tags"
  | "minReplicaMemoryGb"
  | "maxReplicaMemoryGb"
  | "numReplicas"
  | "idleScaling"
  | "idleTimeoutMinutes";

export type NewService = Pick<Service, Setting | "organizationId" | "provider" | "region"> & {
  readonly releaseChannel: string | undefined;
  /** Undefined: no quota. */
  readonly diskGb?: number | undefined;
  readonly passwordSha256: string;
  /** Where the service is not embedded. */
  readonly external?: NewServer;
  /** Rows that must exist from the service's first moment, in the same transaction. */
  readonly alongside?: (tx: Queries, serviceId: string) => Promise<void>;
};

/** Undefined: unchanged. */
export type ServiceChange = {
  readonly [Member in Setting | "releaseChannel" | "connection" | "connectionPassword" | "diskGb"]?:
    | Service[Member]
    | undefined;
};

export class ServiceStore extends Store {
  readonly listAll: () => Promise<readonly Service[]>;
  readonly #leases: Leases;

  /** What the reconciler writes compares the fence of the service's lease, and fails with LEASE_LOST. */
  constructor(db: Database, leases: Leases = allLeases("")) {
    super(db);
    this.listAll = keptList(db, () => listRecords(db, services, "ORDER BY created_at, id"));
    this.#leases = leases;
  }

  /** Inserts the service with its `default` user: desired running, state provisioning. Throws LIMIT_REACHED. */
  async create(service: NewService, limits: Pick<OrganizationLimits, "services" | "memoryGb">): Promise<string> {
    const { passwordSha256, external, alongside, ...members } = service;
    const id = randomUUID();
    const now = new Date().toISOString();
    await this.tellingOthers(async (tx) => {
      const present = await reservedBy(tx, service.organizationId);
      requireRoom(limits.services, "services of the organization", present.services);
      const adding = service.maxReplicaMemoryGb * service.numReplicas;
      requireRoom(limits.memoryGb, "GB of memory of the organization's services", present.memoryGb, adding);
      await insertRow(tx, "services", {
        ...members,
        ...connectionMembers(external, id),
        id,
        nodeId: external === undefined ? this.#leases.nodeId : null,
        desiredState: "running",
        state: "provisioning",
        ...{ stateChangedAt: now, createdAt: now, updatedAt: now },
      });
      const user = { serviceId: id, name: "default", passwordSha256, readonly: false, createdAt: now };
      await insertRow(tx, "service_users", user);
      await alongside?.(tx, id);
    });
    return id;
  }

  async find(id: string): Promise<Service | undefined> {
    return await findRecord(this.db, services, "WHERE id = ?", id);
  }

  async findIn(organizationId: string, id: string): Promise<Service | undefined> {
    const one = "WHERE id = ? AND organization_id = ? AND desired_state <> 'deleted'";
    return await findRecord(this.db, services, one, id, organizationId);
  }

  async listIn(organizationId: string): Promise<Service[]> {
    const all = "WHERE organization_id = ? AND desired_state <> 'deleted' ORDER BY created_at, id";
    return await listRecords(this.db, services, all, organizationId);
  }

  /** Called by handlers and the gateway only. Throws PRECONDITION_FAILED. */
  async setDesired(id: string, desired: DesiredServiceState, expected?: ExpectedVersions): Promise<void> {
    const members = { desired_state: desired, wake_requested: 0 };
    await this.tellingOthers((tx) => changeRow(tx, id, members, expected));
  }

  /** Requests to wake an idle service; the reconciler clears the request when it has done so. */
  async requestWake(id: string): Promise<void> {
    await runAndTell(this.db, "UPDATE services SET wake_requested = 1 WHERE id = ? AND wake_requested = 0", id);
  }

  /** Throws PRECONDITION_FAILED. */
  async change(id: string, change: ServiceChange, expected?: ExpectedVersions): Promise<void> {
    await this.tellingOthers((tx) => changeRow(tx, id, columnsOfChange(change), expected));
  }

  /** Like `change`, for a change that may reserve more memory. Throws LIMIT_REACHED. */
  async scale(service: Service, change: ServiceChange, memoryGb: Limit, expected?: ExpectedVersions): Promise<void> {
    await this.tellingOthers(async (tx) => {
      const before = (await reservedBy(tx, service.organizationId)).memoryGb;
      await changeRow(tx, service.id, columnsOfChange(change), expected);
      const adding = (await reservedBy(tx, service.organizationId)).memoryGb - before;
      // Less memory is always accepted, also when the limit was lowered below the current sum.
      if (adding > 0) requireRoom(memoryGb, "GB of memory of the organization's services", before, adding);
    });
  }

  /** Called by the services reconciler only. */
  async setState(id: string, state: ServiceState, message: string | null): Promise<void> {
    // Its pipes may run in another process, and every server connects to an external one.
    await this.tellingOthers(async (tx) => {
      await this.#leases.require(tx, "service", id);
      await writeServiceState(tx, id, state, message);
    });
  }

  /** After a disaster: no engine has run on this machine yet. Only while no control plane runs. */
  async beginAgain(id: string): Promise<void> {
    await this.db.run(
      `UPDATE services SET state = CASE desired_state WHEN 'running' THEN 'provisioning' ELSE 'stopped' END,
         state_message = NULL, state_changed_at = ?, wake_requested = 0 WHERE id = ?`,
      new Date().toISOString(),
      id,
    );
  }

  /** Called by the services reconciler only, with the facts of a started engine. */
  async setEngineFacts(id: string, facts: EngineFacts): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.#leases.require(tx, "service", id);
      await writeEngineFacts(tx, id, facts);
    });
  }

  /** Called by the gateway only. */
  async setNativePort(id: string, port: number): Promise<void> {
    await updateRows(this.db, "services", { id }, { nativePort: port });
  }

  /** Called by `ServiceDisks` only, with the bytes that the service's tables use on disk. */
  async setDiskUsed(id: string, usedBytes: number): Promise<void> {
    await updateRows(this.db, "services", { id }, { diskUsedBytes: usedBytes });
  }

  /** Called by a process that does not write the service's state, so that the one that does keeps it awake. */
  async setUsedElsewhere(id: string): Promise<void> {
    await updateRows(this.db, "services", { id }, { usedElsewhereAt: new Date().toISOString() });
  }

  /** Called by the loop that asks engines for their numbers, only. */
  async setTableRows(id: string, rows: number): Promise<void> {
    await updateRows(this.db, "services", { id }, { tableRows: rows });
  }

  /** Pipes that are to be removed before the service is. */
  async hasPipes(id: string): Promise<boolean> {
    return (await this.db.get("SELECT 1 FROM pipes WHERE service_id = ? LIMIT 1", id)) !== undefined;
  }

  /** Removes the rows of a deleted service, its users, pipes and their checkpoints. */
  async remove(id: string): Promise<void> {
    await this.tellingOthers(async (tx) => {
      await this.#leases.require(tx, "service", id);
      await tx.run("DELETE FROM services WHERE id = ?", id);
      await tx.run("DELETE FROM leases WHERE kind = 'service' AND id = ?", id);
    });
  }

  async listUsers(serviceId: string): Promise<ServiceUser[]> {
    return await readServiceUsers(this.db, serviceId);
  }

  async listAllUsers(): Promise<ServiceUser[]> {
    return await readServiceUsers(this.db);
  }

  /** Returns false when the user exists. Throws LIMIT_REACHED. */
  async addUser(user: NewServiceUser, limit: Limit): Promise<boolean> {
    return await addServiceUser(this.db, user, limit);
  }

  async setPassword(serviceId: string, name: string, passwordSha256: string): Promise<void> {
    await setServicePassword(this.db, serviceId, name, passwordSha256);
  }

  /** Returns false when there was no such user. */
  async removeUser(serviceId: string, name: string): Promise<boolean> {
    return await removeServiceUser(this.db, serviceId, name);
  }
}

async function changeRow(db: Queries, id: string, columns: Record<string, SqlValue>, expected: ExpectedVersions) {
  const now = { updated_at: new Date().toISOString() };
  await updateVersioned(db, { table: "services", what: "service", key: { id } }, columns, expected, now);
}

function columnsOfChange(change: ServiceChange): Record<string, SqlValue> {
  return columnsOf(withVersion(change, "connection"));
}

const plainMembers = recordReader<Omit<Service, keyof ReturnType<typeof readMembers>["members"]>>()(
  [
    "id organizationId name provider region port nativePort runtime connectionPassword minReplicaMemoryGb",
    "maxReplicaMemoryGb numReplicas idleScaling idleTimeoutMinutes releaseChannel diskGb diskUsedBytes tableRows",
    "desiredState wakeRequested usedElsewhereAt state stateMessage stateChangedAt databaseVersion version nodeId createdAt",
  ],
  { idleScaling: readFlag, wakeRequested: readFlag },
);

const services = { table: "services", read: toService };

/** A service that should run, and of which something cannot be read, is `failed` with the reason. */
function toService(row: ServiceRow): Service {
  const { members, problem } = readMembers(row);
  const service = { ...plainMembers(row), ...members };
  if (problem === undefined) return service;
  return { ...service, stateMessage: problem, state: service.desiredState === "running" ? "failed" : service.state };
}
