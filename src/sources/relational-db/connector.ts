/** The Postgres connector: checks a configuration, opens a source, and takes away what the pipe made. */
import type { CheckOptions, Connector, SourceContext } from "../source.ts";
import type { RelationalDbConfig } from "./kind.ts";
import { preflight } from "./preflight.ts";
import { dropOwn, namesOf } from "./slot.ts";
import { RelationalSource } from "./source.ts";

export const connector: Connector<RelationalDbConfig> = {
  async check(config: RelationalDbConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { query, isExisting, destination } = options;
    await preflight(config, { database: destination.database, query, existing: isExisting }, signal);
  },

  async open(config: RelationalDbConfig, context: SourceContext) {
    return await RelationalSource.open({ ...config, silenceMs: context.sourceSilenceMs }, context);
  },

  async cleanUp(config: RelationalDbConfig, pipeId: string, signal: AbortSignal): Promise<void> {
    await dropOwn(config, namesOf(config, pipeId), signal);
  },
};
