/** The Postgres connector: checks a configuration, opens a source, and takes away what the pipe made. */
import { defineConnector } from "../define-connector.ts";
import type { CheckOptions, CleanUpOptions, SourceContext } from "../source.ts";
import type { PostgresDurable } from "./durable.ts";
import type { RelationalDbConfig } from "./kind.ts";
import { preflight } from "./preflight/preflight.ts";
import { dropReplicationObjects, replicationNamesOf } from "./server/slot.ts";
import { RelationalSource } from "./source.ts";

export const relationalDbConnector = defineConnector<RelationalDbConfig>({
  async check(config: RelationalDbConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { network, query, isExisting, destination } = options;
    await preflight({ config, network }, { database: destination.database, query, existing: isExisting }, signal);
  },

  async open(config: RelationalDbConfig, context: SourceContext<PostgresDurable>) {
    const { network, sourceIdleTimeoutMs: idleTimeoutMs } = context;
    return await RelationalSource.open({ config, network, idleTimeoutMs }, context);
  },

  async cleanUp(config: RelationalDbConfig, { network, pipeId }: CleanUpOptions, signal: AbortSignal): Promise<void> {
    await dropReplicationObjects({ config, network }, replicationNamesOf(config, pipeId), signal);
  },
});
