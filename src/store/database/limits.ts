/** Limits of an organization. A store checks a limit in the transaction of the write that it bounds. */
import { AppError } from "../../lib/errors.ts";
import type { Queries } from "./database.ts";
import { countRows } from "./records.ts";

export type Limit = {
  readonly most: number;
  /** The operator's flag that sets it, named in errors. */
  readonly setting: string;
};

export type OrganizationLimits = {
  readonly services: Limit;
  /** Sum of the maximum memory of all services, in GB. */
  readonly memoryGb: Limit;
  /** Users of one service. */
  readonly users: Limit;
  readonly pipes: Limit;
  /** Workers of one pipe. */
  readonly replicas: Limit;
  readonly chartSources: Limit;
  /** With drafts. */
  readonly savedObjects: Limit;
  /** API keys; access tokens are counted separately. */
  readonly keys: Limit;
};

/** `what` names the counted items, such as "services of the organization". Throws LIMIT_REACHED. */
export function requireRoom(limit: Limit, what: string, present: number, adding = 1): void {
  if (present + adding <= limit.most) return;
  const message = `${what}: ${present} now, ${present + adding} wanted, ${limit.most} allowed (${limit.setting}).`;
  throw new AppError("LIMIT_REACHED", message);
}

/** Throws LIMIT_REACHED when the organization of the service may have no further pipe. */
export async function requireRoomForPipe(db: Queries, serviceId: string, limit: Limit): Promise<void> {
  const beside = `JOIN services ON services.id = pipes.service_id
     WHERE services.organization_id = (SELECT organization_id FROM services WHERE id = ?)
       AND pipes.desired_state <> 'deleted'`;
  requireRoom(limit, "pipes of the organization", await countRows(db, "pipes", beside, serviceId));
}

/** Throws LIMIT_REACHED when the organization may have no further saved object, of whatever kind that is shown. */
export async function requireRoomForObject(db: Queries, organizationId: string, limit: Limit): Promise<void> {
  const shown = "WHERE organization_id = ? AND kind <> 'states'";
  requireRoom(limit, "saved objects of the organization", await countRows(db, "saved_objects", shown, organizationId));
}

/** Sums over the organization's services, without those being deleted. */
export async function reservedBy(tx: Queries, organizationId: string): Promise<{ services: number; memoryGb: number }> {
  const row = await tx.get<{ services: number; memory: number | null }>(
    `SELECT count(*) AS services, sum(max_replica_memory_gb * num_replicas) AS memory
     FROM services WHERE organization_id = ? AND desired_state <> 'deleted'`,
    organizationId,
  );
  return { services: Number(row?.services ?? 0), memoryGb: Number(row?.memory ?? 0) };
}
