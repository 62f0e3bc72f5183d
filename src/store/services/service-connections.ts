/** How the server of an external service is reached. */
import { AppError } from "../../lib/errors.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import type { Sealer } from "../database/secrets.ts";

/** Without the password, which is sealed apart. */
export type ServiceConnection = {
  /** The hosts of one server or cluster: scheme, host and port. */
  readonly urls: readonly string[];
  readonly username: string;
  /** The cluster of the server's configuration, for servers without a replicated database. */
  readonly cluster?: string | undefined;
  /** The database that names without one belong to. */
  readonly database?: string | undefined;
  readonly tls?: { readonly caCertificate?: string | undefined } | undefined;
};

/** The hosts of a service in Kubernetes. */
export type ManagedConnection = Pick<ServiceConnection, "urls" | "username" | "cluster"> & {
  /** The operator that made them. */
  readonly operator: string;
};

/** Default ports of the ClickHouse HTTP interface. */
const defaultPorts = { http: 8123, https: 8443 } as const;

/** Scheme, host without brackets, and port of a URL of `urls`. */
export function serverOf(url: string): { protocol: "http" | "https"; host: string; port: number } {
  const { protocol: scheme, hostname } = new URL(url);
  const protocol = scheme === "https:" ? "https" : "http";
  // `URL` removes a port that is the scheme's own, such as 80.
  const written = /^https?:\/\/(?:\[[^\]]*\]|[^/:]*):(\d+)/i.exec(url)?.[1];
  return { protocol, host: hostname.replaceAll(/[[\]]/g, ""), port: Number(written ?? defaultPorts[protocol]) };
}

export type NewConnection = {
  readonly connection: ServiceConnection;
  /** Seals the password for the service. */
  readonly sealFor: (serviceId: string) => string;
};

/** A service in a cluster: its hosts are known to the cluster alone. */
export type NewManaged = Pick<NewConnection, "sealFor"> & { readonly runtime: "kubernetes" };

export type NewServer = NewConnection | NewManaged;

/** The members runtime, connection and connectionPassword of a new service. */
export function connectionMembers(given: NewConnection | NewManaged | undefined, serviceId: string) {
  if (given === undefined) return { runtime: "embedded" };
  const connectionPassword = given.sealFor(serviceId);
  if ("runtime" in given) return { runtime: given.runtime, connectionPassword };
  return { runtime: "external", connection: versioned(given.connection), connectionPassword };
}

/** Reads the column connection. Throws STORED_STATE_UNREADABLE. */
export function connectionOf(json: string | null): ServiceConnection | null {
  return json === null ? null : readJson(columnShapes.serviceConnection, json, "connection of the service");
}

/** Reads the column managed_connection. Throws STORED_STATE_UNREADABLE. */
export function managedConnectionOf(json: string | null): ManagedConnection | null {
  return json === null ? null : readJson(columnShapes.managedConnection, json, "hosts of the service");
}

type Sealed = { readonly id: string; readonly connectionPassword: string | null };

export class ConnectionPasswords {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  seal(serviceId: string, password: string): string {
    return this.#sealer.seal({ password }, contextOf(serviceId));
  }

  /** Throws STORED_STATE_UNREADABLE when it was sealed with another key. */
  open({ id, connectionPassword }: Sealed): string {
    const opened =
      connectionPassword === null
        ? undefined
        : this.#sealer.tryOpen<{ password: string }>(connectionPassword, contextOf(id));
    if (opened !== undefined) return opened.password;
    const message = "The password of the connection was stored with another secret key: set connection.password again.";
    throw new AppError("STORED_STATE_UNREADABLE", message);
  }
}

function contextOf(serviceId: string): string {
  return `service ${serviceId}`;
}
