/** The two tables of operations: A (management API, enveloped) and B (observability API, bare). */
import type { z } from "zod";
import { activityOperations } from "./activities.ts";
import { alertOperations } from "./alerts.ts";
import { auditOperations } from "./audit.ts";
import { backupOperations } from "./backups.ts";
import { cdcScalingOperations } from "./cdc-scaling.ts";
import { chartSourceOperations } from "./chart-sources.ts";
import { chartOperations } from "./charts.ts";
import { connectionOperations } from "./connections.ts";
import { dashboardOperations } from "./dashboards.ts";
import { exploreOperations } from "./explore.ts";
import { historyOperations } from "./history.ts";
import { identityOperations } from "./identity.ts";
import { keyOperations } from "./keys.ts";
import { leftoverOperations } from "./leftovers.ts";
import type { Input, Operation, Result } from "./operation.ts";
import { organizationOperations } from "./organizations.ts";
import { pipeBatchOperations } from "./pipe-batches.ts";
import { pipeErrorOperations } from "./pipe-errors.ts";
import { pipeListOperations } from "./pipe-lists.ts";
import { pipePreparationOperations } from "./pipe-preparation.ts";
import { pipeOperations } from "./pipes.ts";
import { prometheusOperations } from "./prometheus.ts";
import { queryOperations } from "./queries.ts";
import { queryEndpointOperations } from "./query-endpoints.ts";
import { savedObjectOperations } from "./saved-objects.ts";
import { savedSearchOperations } from "./saved-searches.ts";
import { serviceMoveOperations } from "./service-moves.ts";
import { serviceOperations } from "./services.ts";
import { systemOperations } from "./system.ts";
import { tableOperations } from "./tables.ts";
import { webhookOperations } from "./webhooks.ts";

export const managementOperations = {
  ...organizationOperations,
  ...keyOperations,
  ...identityOperations,
  ...serviceOperations,
  ...serviceMoveOperations,
  ...pipeOperations,
  ...cdcScalingOperations,
  ...pipeListOperations,
  ...historyOperations,
  ...pipeErrorOperations,
  ...pipeBatchOperations,
  ...pipePreparationOperations,
  ...leftoverOperations,
  ...backupOperations,
  ...auditOperations,
  ...activityOperations,
  ...prometheusOperations,
  ...queryOperations,
  ...queryEndpointOperations,
  ...tableOperations,
  ...savedObjectOperations,
  ...systemOperations,
};

export type ManagementOperations = typeof managementOperations;

export const observabilityOperations = {
  ...chartOperations,
  ...chartSourceOperations,
  ...exploreOperations,
  ...connectionOperations,
  ...savedSearchOperations,
  ...dashboardOperations,
  ...webhookOperations,
  ...alertOperations,
};

export type ObservabilityOperations = typeof observabilityOperations;

/** A handler per operation; the compiler reports a missing one. */
export type Handlers<Table extends Record<string, Operation>, Context> = {
  readonly [Name in keyof Table]: (input: Input<Table[Name]>, context: Context) => Promise<Result<Table[Name]>>;
};

/** Method and path of the operation that changes this part of the same object: the part itself or a member of it. */
export function placeOfMember({ method, path }: Operation, member: string): string | undefined {
  if (method !== "PATCH") return undefined;
  const parts: readonly Operation[] = Object.values(managementOperations);
  const part = parts.find((other) => {
    if (!["PATCH", "PUT"].includes(other.method) || !/^\/\w+$/.test(other.path.replace(path, ""))) return false;
    return other.path === `${path}/${member}` || Object.hasOwn((other.body as z.ZodObject).shape, member);
  });
  return part && `${part.method} ${part.path}`;
}
