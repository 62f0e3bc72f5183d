/** Engines for work on a service other than its clients' queries. */
import type { ServiceStore } from "../store/services.ts";
import type { ServiceAccess } from "./access.ts";
import type { LendingRuntime, LentEngine } from "./runtimes/lending.ts";

export type Lender = (serviceId: string, signal: AbortSignal) => Promise<LentEngine>;

/** Wakes an idle service and counts as its activity; a stopped service's engine is borrowed and serves no client. */
export function engineLender(services: ServiceStore, access: ServiceAccess, runtime: LendingRuntime): Lender {
  return async (serviceId, signal) => {
    const row = await services.find(serviceId);
    if (row?.desiredState === "stopped" && row.state === "stopped") {
      const lent = await runtime.lend(row);
      if (lent !== undefined) return lent;
    }
    const { address, release } = await access.acquire(serviceId, signal);
    return { address, release: async () => release() };
  };
}
