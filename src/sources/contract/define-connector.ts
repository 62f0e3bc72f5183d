/** The one place where a configuration, which the kind's schema has let through, gets its type. */
import type { Connector, TypedConnector } from "./source.ts";

/** A connector for the outside, which knows its configuration as JSON only. */
export function defineConnector<Config>(connector: TypedConnector<Config>): Connector {
  return connector as unknown as Connector;
}
