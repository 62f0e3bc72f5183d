/** Clients of the services that charts ask. */
import { ClickHouseClient } from "../clickhouse/client.ts";
import type { AcquireEngine } from "../clickhouse/lease.ts";
import type { AcquireClient } from "./charts.ts";

/**
 * Charts reach a service past the gateway: they carry no user of it, wake it, and count as its activity. `acquire`
 * gives an address with a reader's rights, because what a chart asks never writes.
 */
export function chartClients(acquire: AcquireEngine): AcquireClient {
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
