/**
 * Connections for short requests, shared by the pipes of a worker with the same brokers and credentials. Requests that
 * at the broker are not candidates: those behind them on the connection would wait, too.
 */
import type { BrokerAccess } from "../access.ts";
import { BrokerConnections } from "./connections.ts";
import { MergedMetadata } from "./merged-metadata.ts";
import { type Metadata, metadata } from "./requests.ts";

type Shared = { readonly connections: BrokerConnections; readonly metadata: MergedMetadata; users: number };

const open = new Map<string, Shared>();

export type Lent = {
  readonly connections: BrokerConnections;
  /** The topics with these names. */
  metadata(names: readonly string[]): Promise<Metadata>;
  /** Returns them; the last user closes them. */
  release(): void;
};

/** Names us to the broker: a connection of several pipes carries the id of none of them. */
const clientId = "millrace";

export function lendConnections(access: BrokerAccess): Lent {
  const key = keyOf(access);
  const shared = (key === undefined ? undefined : open.get(key)) ?? startShared(access);
  shared.users += 1;
  if (key !== undefined) open.set(key, shared);
  let isLent = true;
  return {
    connections: shared.connections,
    metadata: (names) => shared.metadata.ask(names),
    release: () => {
      if (!isLent) return;
      isLent = false;
      shared.users -= 1;
      if (shared.users > 0) return;
      if (key !== undefined) open.delete(key);
      shared.connections.close();
    },
  };
}

function startShared(access: BrokerAccess): Shared {
  const connections = new BrokerConnections(access, clientId);
  let brokers = access.brokers;
  const merged = new MergedMetadata(async (names) => {
    const connection = await connections.any([...brokers, ...access.brokers]);
    const found = await connection.send(metadata(names));
    brokers = [...found.brokers.values()];
    return found;
  });
  return { connections, metadata: merged, users: 0 };
}

/** Equal for the same brokers, certificates and login; undefined for tokens, which belong to one pipe. */
function keyOf({ brokers, tls, login }: BrokerAccess): string | undefined {
  if (login !== undefined && "token" in login) return undefined;
  return JSON.stringify([brokers, tls ?? null, login ?? null]);
}
