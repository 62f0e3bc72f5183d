/**
 * The connection to the hosts of a service in Kubernetes. The process that writes the service's object stores it, and
 * the others connect with it: they need no access to the cluster.
 */
import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { managedPolicy } from "../../outgoing/policy.ts";
import type {
  ConnectionPasswords,
  ManagedConnection,
  ServiceConnection,
} from "../../store/services/service-connections.ts";
import type { Service } from "../../store/services/services.ts";
import { addressesOf, type ExternalAddress } from "../external/addresses.ts";
import { connectEngine } from "../external/engine.ts";
import type { RunningEngine } from "../runtime.ts";
import { ownUser } from "./installation.ts";

/** The operator by its name in the metadata, where services of another one were stored, too. */
const operator = "altinity";

/** `cluster`: on which tables are made; undefined: on one server. */
export function managedConnection(hosts: readonly string[], cluster: string | undefined): ManagedConnection {
  const named = cluster === undefined ? {} : { cluster };
  return { urls: hosts.map((host) => `http://${host}`), username: ownUser, ...named, operator };
}

/** This operator would make an empty server beside the data of another one. Throws KUBERNETES_REFUSED. */
export function requireOurOperator({ managedConnection: stored }: Service): void {
  if (stored === null || stored.operator === operator) return;
  const message = `The service was made with --kubernetes-operator ${stored.operator}, which is not supported any more.`;
  throw new AppError("KUBERNETES_REFUSED", message);
}

export function managedAddresses(connection: ServiceConnection, password: string): ExternalAddress[] {
  return addressesOf(connection, password, managedPolicy).map((address) => ({ ...address, isManaged: true }));
}

export type StoredHostsOptions = {
  readonly passwords: ConnectionPasswords;
  readonly logger: Logger;
};

/** Connects to the first of the stored hosts that answers. Throws CONNECTION_UNREACHABLE. */
export async function connectToStoredHosts(
  service: Service,
  { passwords, logger }: StoredHostsOptions,
): Promise<RunningEngine> {
  const { managedConnection: stored, connectionPassword } = service;
  if (stored === null) throw new AppError("CONNECTION_UNREACHABLE", "The service has no hosts yet.");
  return await connectEngine(managedAddresses(stored, passwords.open(service)), {
    isCurrent: async (now) =>
      now.connectionPassword === connectionPassword && isDeepStrictEqual(now.managedConnection, stored),
    logger,
  });
}
