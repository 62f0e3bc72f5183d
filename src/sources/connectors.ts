/**
 * The connectors' bodies, loaded when they are needed. Workers import this and not the registry: the schemas of the kinds
 * take longer to load than all else that a worker needs.
 */
import type { Connector } from "./source.ts";

export const connectors = {
  messageBroker: async () => (await import("./message-broker/connector.ts")).connector as Connector<never>,
  objectStorage: async () => (await import("./object-storage/connector.ts")).connector as Connector<never>,
  managedStream: async () => (await import("./managed-stream/connector.ts")).connector as Connector<never>,
  relationalDb: async () => (await import("./relational-db/connector.ts")).connector as Connector<never>,
};

export type ConnectorKey = keyof typeof connectors;
