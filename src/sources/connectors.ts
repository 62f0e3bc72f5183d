/** The connectors' code, loaded on first use. A worker imports it without the request schemas of all kinds. */
import type { JsonObject } from "../lib/json.ts";
import type { SourceKindKey } from "./contract/descriptions.ts";
import type { Connector } from "./contract/source.ts";

/** One for each kind of `contract/descriptions.ts`; the compiler reports missing ones. */
export const connectors: Record<SourceKindKey, () => Promise<Connector>> = {
  messageBroker: async () => (await import("./message-broker/connector.ts")).messageBrokerConnector,
  objectStorage: async () => (await import("./object-storage/connector.ts")).objectStorageConnector,
  managedStream: async () => (await import("./managed-stream/connector.ts")).managedStreamConnector,
  push: async () => (await import("./push/connector.ts")).pushConnector,
  relationalDb: async () => (await import("./relational-db/connector.ts")).relationalDbConnector,
};

/** The connector with the code that this configuration needs, whose secrets may be missing. */
export async function loadedConnector(key: string, config: JsonObject): Promise<Connector> {
  const connector = await connectorOf(key);
  await connector.load?.(config);
  return connector;
}

/** `key` is one of the kinds of `contract/registry.ts`. */
export async function connectorOf(key: string): Promise<Connector> {
  return await connectors[key as SourceKindKey]();
}
