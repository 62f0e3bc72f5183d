/** Engines for work on a service other than its clients' queries. */

import { traitsOf } from "../api/runtimes.ts";
import type { AcquireEngine } from "../clickhouse/lease.ts";
import type { ServiceStore } from "../store/services/services.ts";
import type { ServiceAccess } from "./access.ts";
import { type NodeFinder, requireHere } from "./elsewhere.ts";
import type { LeasingRuntime } from "./runtimes/leasing.ts";

/**
 * Wakes an idle service and counts as its activity; a stopped service's engine is borrowed and serves no client. The
 * pods of a stopped service are not started: that may take as long as the cluster wants.
 */
export function engineLeases(
  services: ServiceStore,
  access: ServiceAccess,
  runtime: LeasingRuntime,
  nodes: NodeFinder,
): AcquireEngine {
  return async (serviceId, signal) => {
    const row = await services.find(serviceId);
    if (row !== undefined) await requireHere(row, nodes);
    if (row?.desiredState === "stopped" && row.state === "stopped" && traitsOf(row).canBeReadStopped) {
      const lent = await runtime.lease(row);
      if (lent !== undefined) return lent;
    }
    const { address, release } = await access.acquire(serviceId, signal);
    return { address, release: async () => release() };
  };
}
