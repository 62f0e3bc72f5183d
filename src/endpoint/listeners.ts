/** The listeners that the services in the store need. */
import type { ServiceStore } from "../store/services.ts";
import type { Gateway } from "./gateway.ts";
import { listenProblem } from "./service-ports.ts";

type Wanted = {
  readonly services: ServiceStore;
  readonly isElsewhere: (nodeId: string | null) => boolean;
  readonly host: string;
  /** Receives the ports before they are opened. */
  readonly onPorts: (ports: readonly number[]) => void;
};

/**
 * Returns the services whose listener could not be opened, each with the reason as a sentence. They are tried again.
 */
export async function openListeners(
  gateway: Gateway,
  { services, isElsewhere, host, onPorts }: Wanted,
): Promise<ReadonlyMap<string, string>> {
  const known = await gatewayServices({ services, isElsewhere, host });
  onPorts(known.map(({ port }) => port));
  const failures = await gateway.sync(known);
  const ports = new Map(known.map(({ id, port }) => [id, port]));
  return new Map([...failures].map(([id, error]) => [id, `Port ${ports.get(id)} ${listenProblem(error)}.`]));
}

/** What the gateway needs to keep a listener open for each existing service that can be reached from here. */
async function gatewayServices({ services, isElsewhere, host }: Omit<Wanted, "onPorts">) {
  const users = Map.groupBy(await services.listAllUsers(), (user) => user.serviceId);
  return (await services.listAll())
    .filter(({ desiredState, runtime, nodeId }) => {
      if (isElsewhere(nodeId)) return false;
      // A stopped engine is ours, and its listener says so. With a server that goes on, the closed door is the stop.
      return desiredState === "running" || (desiredState === "stopped" && runtime !== "external");
    })
    .map((service) => ({
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
