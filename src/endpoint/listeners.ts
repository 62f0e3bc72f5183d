/** The listeners that the services in the store want. */
import type { ServiceRow, ServiceStore } from "../store/services.ts";
import type { Gateway } from "./gateway.ts";

type Wanted = {
  readonly services: ServiceStore;
  readonly host: string;
  /** Told the ports before they are opened. */
  readonly onPorts: (ports: readonly number[]) => void;
};

/** Fails with the reasons when a listener could not be opened, which shows in `/health` and is tried again. */
export async function openListeners(gateway: Gateway, { services, host, onPorts }: Wanted): Promise<void> {
  const known = await gatewayServices(services, host);
  onPorts(known.map(({ port }) => port));
  const failures = await gateway.sync(known);
  const reasons = [...failures].map(([id, error]) => `service ${id}: ${error.message}`);
  if (reasons.length > 0) throw new Error(`listeners not open: ${reasons.join("; ")}`);
}

/** Everything the gateway needs to keep a listener open for each service that exists. */
async function gatewayServices(services: ServiceStore, host: string) {
  const users = Map.groupBy(await services.listAllUsers(), (user) => user.service_id);
  return (await services.listAll())
    .filter((row) => row.desired_state !== "deleted")
    .map((row: ServiceRow) => ({
      id: row.id,
      name: row.name,
      host,
      port: row.port,
      ipAccessList: JSON.parse(row.ip_access_list) as { source: string; description: string }[],
      users: (users.get(row.id) ?? []).map((user) => ({
        name: user.name,
        passwordSha256Hex: user.password_sha256,
        readonly: user.readonly === 1,
      })),
    }));
}
