/** The connections of external services: they are tried before they are stored. */

import type { z } from "zod";
import { traitsOf } from "../../../api/runtimes.ts";
import { type connectionChange, noIdling, type serverConnection } from "../../../api/service-connections.ts";
import { badRequest, refuseIssues } from "../../../lib/errors.ts";
import {
  type ConnectionPasswords,
  type NewConnection,
  type ServiceConnection,
  serverOf,
} from "../../../store/services/service-connections.ts";
import type { Service, ServiceChange } from "../../../store/services/services.ts";

export type ConnectionDeps = {
  readonly connectionPasswords: ConnectionPasswords;
  /** Connects to the server and names every problem. Throws CONNECTION_* or SOURCE_ADDRESS_REFUSED. */
  readonly inspectConnection: (connection: ServiceConnection, password: string, signal: AbortSignal) => Promise<void>;
};

/** The connection of a new service, once its server has answered. */
export async function newConnectionOf(
  { connectionPasswords, inspectConnection }: ConnectionDeps,
  { password, ...connection }: z.output<typeof serverConnection>,
  signal: AbortSignal,
): Promise<NewConnection> {
  await inspectConnection(connection, password, signal);
  return { connection, sealFor: (serviceId) => connectionPasswords.seal(serviceId, password) };
}

/** Sizes that the record has and that are unknown for an external server. */
export const noSizes = { min: 0, max: 0 };

/** What a change of the connection stores; the members that it does not name stay. */
export async function connectionChangeOf(
  { connectionPasswords, inspectConnection }: ConnectionDeps,
  service: Service,
  change: z.output<typeof connectionChange> | undefined,
  signal: AbortSignal,
): Promise<Pick<ServiceChange, "connection" | "connectionPassword">> {
  if (change === undefined) return {};
  if (service.connection === null) {
    throw badRequest("connection", "applies to external services only");
  }
  const { password, ...members } = change;
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const merged = Object.entries({ ...service.connection, ...Object.fromEntries(given) });
  const connection = Object.fromEntries(merged.filter(([, value]) => value !== null)) as unknown as ServiceConnection;
  if (password === undefined) refuseRedirect(service.connection, connection);
  await inspectConnection(connection, password ?? connectionPasswords.open(service), signal);
  if (password === undefined) return { connection };
  return { connection, connectionPassword: connectionPasswords.seal(service.id, password) };
}

/** The stored password goes to the servers that it was given for. */
function refuseRedirect(before: ServiceConnection, after: ServiceConnection): void {
  const addressOf = (url: string) => JSON.stringify(serverOf(url));
  const known = new Set(before.urls.map(addressOf));
  if (after.urls.every((url) => known.has(addressOf(url)))) return;
  throw badRequest("connection.password", "must be given again with a URL of another server");
}

type Scaling = { readonly idleScaling?: boolean | undefined } & Readonly<Record<string, unknown>>;

/** Throws BAD_REQUEST for sizes of an external server, which are its own. */
export function refuseScaling(service: Service, body: Scaling): void {
  if (traitsOf(service).hasSizes) return;
  const issues = Object.entries(body).flatMap(([path, value]) => {
    if (value === undefined || (path === "idleScaling" && value === false)) return [];
    const message = path === "idleScaling" ? noIdling : "does not apply to an external server, which has its own size";
    return [{ path, message }];
  });
  refuseIssues(issues);
}

/** Throws BAD_REQUEST for a quota of a disk that is not ours. */
export function refuseQuota(service: Service, diskGb: number | null | undefined): void {
  if (traitsOf(service).hasSizes || diskGb == null) return;
  throw badRequest("diskGb", "does not apply to an external server, which has its own disk");
}
