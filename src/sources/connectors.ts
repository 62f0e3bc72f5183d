/** The connectors' code, loaded when it is needed. A worker comes here without the request schemas of all kinds. */
import type { Connector } from "./source.ts";

export const connectors = {
  messageBroker: async () => (await import("./message-broker/connector.ts")).connector as Connector<never>,
  objectStorage: async () => (await import("./object-storage/connector.ts")).connector as Connector<never>,
  managedStream: async () => (await import("./managed-stream/connector.ts")).connector as Connector<never>,
  relationalDb: async () => (await import("./relational-db/connector.ts")).connector as Connector<never>,
};

/** `key` is one of the kinds of `registry.ts`. */
export async function connectorOf(key: string): Promise<Connector<never>> {
  return await connectors[key as keyof typeof connectors]();
}
