/** The listeners that the services in the store need. */
import type { Leases } from "../store/leases.ts";
import type { Service, ServiceStore } from "../store/services.ts";
import type { Gateway } from "./gateway.ts";
import { listenProblem } from "./service-ports.ts";

type Wanted = {
  readonly services: ServiceStore;
  readonly leases: Pick<Leases, "isElsewhere" | "isShared">;
  readonly host: string;
  /** Receives the ports before they are opened. */
  readonly onPorts: (ports: readonly number[]) => void;
};

/**
 * Returns the services whose listener could not be opened, each with the reason as a sentence. They are tried again.
 */
export async function openListeners(
  gateway: Gateway,
  { services, leases, host, onPorts }: Wanted,
): Promise<ReadonlyMap<string, string>> {
  const wanted = await wantedServices(services, leases);
  const known = await gatewayServices(services, wanted, host);
  onPorts(known.map(({ port }) => port));
  const failures = await gateway.sync(known);
  const rows = new Map(wanted.map((row) => [row.id, row]));
  // Another server on this machine may have the listener of a service without a node.
  const isOpenElsewhere = (id: string, error: Error) =>
    leases.isShared && rows.get(id)?.runtime !== "embedded" && (error as NodeJS.ErrnoException).code === "EADDRINUSE";
  const problems = [...failures].filter(([id, error]) => !isOpenElsewhere(id, error));
  return new Map(problems.map(([id, error]) => [id, `Port ${rows.get(id)?.port} ${listenProblem(error)}.`]));
}

/** The services that can be reached from here. */
async function wantedServices(services: ServiceStore, leases: Wanted["leases"]): Promise<Service[]> {
  return (await services.listAll()).filter(({ desiredState, runtime, nodeId }) => {
    if (leases.isElsewhere(nodeId)) return false;
    // A stopped engine is ours, and its listener says so. With a server that goes on, the closed door is the stop.
    return desiredState === "running" || (desiredState === "stopped" && runtime !== "external");
  });
}

/** What the gateway needs to keep a listener open for each of them. */
async function gatewayServices(services: ServiceStore, wanted: readonly Service[], host: string) {
  const users = Map.groupBy(await services.listAllUsers(), (user) => user.serviceId);
  return wanted.map((service) => ({
    id: service.id,
    name: service.name,
    host,
    port: service.port,
    ipAccessList: [...service.ipAccessList],
    users: (users.get(service.id) ?? []).map((user) => ({
      name: user.name,
      passwordSha256Hex: user.passwordSha256,
      readonly: user.readonly,
      restricted: user.rights !== null,
    })),
  }));
}
