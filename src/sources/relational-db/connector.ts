/** The Postgres connector: checks a configuration, opens a source, and takes away what the pipe made. */
import { defineConnector } from "../define-connector.ts";
import type { CheckOptions, CleanUpOptions, SourceContext } from "../source.ts";
import type { PostgresDurable } from "./durable.ts";
import type { RelationalDbRequest } from "./kind.ts";
import { preflight } from "./preflight/preflight.ts";
import { dropOwn, namesOf } from "./server/slot.ts";
import { RelationalSource } from "./source.ts";

export const connector = defineConnector<RelationalDbRequest>({
  async check(request: RelationalDbRequest, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { network, query, isExisting, destination } = options;
    await preflight({ ...request, network }, { database: destination.database, query, existing: isExisting }, signal);
  },

  async open(request: RelationalDbRequest, context: SourceContext<PostgresDurable>) {
    const { network, sourceSilenceMs: silenceMs } = context;
    return await RelationalSource.open({ ...request, network, silenceMs }, context);
  },

  async cleanUp(request: RelationalDbRequest, { network, pipeId }: CleanUpOptions, signal: AbortSignal): Promise<void> {
    const config = { ...request, network };
    await dropOwn(config, namesOf(config, pipeId), signal);
  },
});
