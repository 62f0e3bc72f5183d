/** The endpoints that the services in the store need: listeners on ports, and host names at the gateway. */
import { traitsOf } from "../../api/runtimes.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Leases } from "../../store/nodes/leases.ts";
import type { Service, ServiceStore } from "../../store/services/services.ts";
import type { EndpointAccess } from "../auth/logins.ts";
import type { GatewayService } from "../gateway/backend.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { HostNames } from "../hosts/open.ts";
import { listenProblem, type ServicePorts, servicePortOf } from "./service-ports.ts";

type Wanted = {
  readonly services: ServiceStore;
  readonly leases: Pick<Leases, "isElsewhere" | "isShared">;
  readonly host: string;
  /** False: services have host names only. */
  readonly hasPorts: boolean;
  /** Chooses ports of the native protocol; undefined: services have none. */
  readonly nativePorts: Pick<ServicePorts, "pick"> | undefined;
  readonly logger: Logger;
  readonly names: Pick<HostNames, "sync"> | undefined;
};

/**
 * Returns the services whose listener could not be opened, each with the reason as a sentence. They are tried again.
 */
export async function openListeners(
  gateway: Gateway,
  { services, leases, host, hasPorts, nativePorts, names, logger }: Wanted,
): Promise<ReadonlyMap<string, string>> {
  const all = await services.listAll();
  const accessOf = await accessReader(services);
  const wanted = hasPorts ? all.filter((service) => hasListener(service, leases)) : [];
  const known: GatewayService[] = [];
  for (const row of wanted) {
    const nativePort = nativePorts && (await nativePortOf(row, services, nativePorts, logger));
    known.push({ ...accessOf(row), name: row.name, host, port: row.port, nativePort });
  }
  names?.sync(
    all
      .filter(({ desiredState }) => desiredState !== "deleted")
      .map((row) => ({
        ...{ ...accessOf(row), elsewhere: elsewhereOf(row, leases) },
        hasNative: traitsOf(row).isOwnProcess,
      })),
  );
  const failures = await gateway.sync(known);
  const rows = new Map(wanted.map((row) => [row.id, row]));
  // Another server on this machine may have the listener of a service without a node.
  const isOpenElsewhere = (id: string, error: Error) => {
    const row = rows.get(id);
    const isReachedByOthers = leases.isShared && (row === undefined || !traitsOf(row).isOwnProcess);
    return isReachedByOthers && (error as NodeJS.ErrnoException).code === "EADDRINUSE";
  };
  const problems = [...failures].filter(([id, error]) => !isOpenElsewhere(id, error));
  const portOf = (id: string, error: Error) => (error as { port?: number }).port ?? rows.get(id)?.port;
  return new Map(problems.map(([id, error]) => [id, `Port ${portOf(id, error)} ${listenProblem(error)}.`]));
}

/** The port of an embedded service, which gets one when it has none; undefined: none is free. */
async function nativePortOf(
  { id, name, runtime, nativePort }: Service,
  services: ServiceStore,
  ports: Pick<ServicePorts, "pick">,
  logger: Logger,
): Promise<number | undefined> {
  if (!traitsOf({ runtime }).isOwnProcess) return undefined;
  if (nativePort !== null) return nativePort;
  try {
    const port = await ports.pick();
    await services.setNativePort(id, port);
    return port;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    logger.warn({ service: name, reason: error.message }, "a service has no port for the native protocol");
    return undefined;
  }
}

/** True of the services that can be reached from here. */
function hasListener(service: Service, leases: Wanted["leases"]): boolean {
  const { desiredState, nodeId } = service;
  if (servicePortOf(service) === undefined) return false;
  if (leases.isElsewhere(nodeId)) return false;
  // A stopped engine is ours, and its listener says so. With a server that goes on, the closed door is the stop.
  return desiredState === "running" || (desiredState === "stopped" && !traitsOf(service).outlivesStop);
}

function elsewhereOf({ nodeId }: Service, leases: Wanted["leases"]): string | undefined {
  return nodeId !== null && leases.isElsewhere(nodeId) ? nodeId : undefined;
}

/** What an endpoint needs to know of the service's users and access list. */
async function accessReader(services: ServiceStore): Promise<(service: Service) => EndpointAccess> {
  const users = Map.groupBy(await services.listAllUsers(), (user) => user.serviceId);
  return ({ id, ipAccessList }) => ({
    id,
    ipAccessList: [...ipAccessList],
    users: (users.get(id) ?? []).map((user) => ({
      name: user.name,
      passwordSha256Hex: user.passwordSha256,
      readonly: user.readonly,
      restricted: user.rights !== null,
    })),
  });
}
