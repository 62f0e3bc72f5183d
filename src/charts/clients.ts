/** Clients of the services that charts ask. */
import { type ClickHouseAddress, ClickHouseClient } from "../clickhouse/client.ts";
import type { ClientFor } from "./charts.ts";

/** A running service, woken if needed. It stays awake until it is released. */
export type AcquireReader = (
  serviceId: string,
  signal: AbortSignal,
) => Promise<{ readonly address: ClickHouseAddress; release(): void }>;

/**
 * Charts reach a service past the gateway: they carry no user of it, wake it, and count as its activity. `acquire`
 * gives an address with a reader's rights, because what a chart asks never writes.
 */
export function chartClients(acquire: AcquireReader): ClientFor {
  const clients = new Map<string, { readonly port: number; readonly client: ClickHouseClient }>();
  return async (serviceId, signal) => {
    const { address, release } = await acquire(serviceId, signal);
    let known = clients.get(serviceId);
    if (known?.port !== address.port) {
      known?.client.close();
      known = { port: address.port, client: new ClickHouseClient(address) };
      clients.set(serviceId, known);
    }
    return { client: known.client, release };
  };
}
