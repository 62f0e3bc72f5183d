/** Clients of the services that charts ask. */
import type { WakeMode } from "../api/charts.ts";
import { type ClickHouseAddress, ClickHouseClient } from "../clickhouse/client.ts";
import type { AcquireEngine, EngineLease } from "../clickhouse/lease.ts";
import { AppError } from "../lib/errors.ts";

export type ClientLease = EngineLease<{ readonly client: ClickHouseClient }>;

/**
 * Connects to a service. With `auto` it wakes an idle one and counts as use until it is released. With `never` it does
 * neither, and rejects with SERVICE_ASLEEP when the service does not run.
 */
export type AcquireClient = (serviceId: string, wake: WakeMode, signal: AbortSignal) => Promise<ClientLease>;

/** How services are reached. Both give an address with a reader's rights, because what a chart asks never writes. */
export type ChartEngines = {
  /** Wakes the service and counts as use of it. */
  readonly acquire: AcquireEngine;
  /** Does neither; undefined when the engine does not run. */
  readonly observe: (serviceId: string) => ClickHouseAddress | undefined;
};

/** Charts reach a service past the gateway: they carry no user of it. */
export function chartClients({ acquire, observe }: ChartEngines): AcquireClient {
  const clients = new Map<string, { readonly address: ClickHouseAddress; readonly client: ClickHouseClient }>();
  const clientAt = (serviceId: string, address: ClickHouseAddress) => {
    let known = clients.get(serviceId);
    // Every start of an engine, and every connection to a server, has an address of its own.
    if (known?.address !== address) {
      known?.client.close();
      known = { address, client: new ClickHouseClient(address) };
      clients.set(serviceId, known);
    }
    return known.client;
  };
  return async (serviceId, wake, signal) => {
    if (wake === "auto") {
      const { address, release } = await acquire(serviceId, signal);
      return { client: clientAt(serviceId, address), release };
    }
    const address = observe(serviceId);
    if (address === undefined) throw new AppError("SERVICE_ASLEEP", "The service does not run, and wake is never.");
    return { client: clientAt(serviceId, address), release: () => {} };
  };
}
