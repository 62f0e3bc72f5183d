/** The one place where a configuration, which the kind's schema has let through, gets its type. */
import type { JsonObject } from "../lib/json.ts";
import type { Connector, TypedConnector } from "./source.ts";

/** A connector for the outside, which knows its configuration as JSON only. */
export function defineConnector<Config>(connector: TypedConnector<Config>): Connector {
  const { createdTables, rowReplay, discover, list, cleanUp, watch } = connector;
  const typed = (config: JsonObject) => config as Config;
  return {
    check: async (config, options, signal) => await connector.check(typed(config), options, signal),
    open: async (config, context, signal) => await connector.open(typed(config), context, signal),
    ...(createdTables === undefined ? {} : { createdTables: (config) => createdTables(typed(config)) }),
    ...(rowReplay === undefined
      ? {}
      : { rowReplay: async (config, context) => await rowReplay(typed(config), context) }),
    ...(discover === undefined
      ? {}
      : { discover: async (config, options, signal) => await discover(typed(config), options, signal) }),
    ...(list === undefined
      ? {}
      : { list: async (config, options, signal) => await list(typed(config), options, signal) }),
    ...(cleanUp === undefined
      ? {}
      : { cleanUp: async (config, pipe, signal) => await cleanUp(typed(config), pipe, signal) }),
    ...(watch === undefined ? {} : { watch: (config, pipe) => watch(typed(config), pipe) }),
  };
}
