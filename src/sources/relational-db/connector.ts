/** The Postgres connector: checks a configuration, opens a source, and takes away what the pipe made. */
import { defineConnector } from "../contract/define-connector.ts";
import type { SourceWatch } from "../contract/own-objects.ts";
import type { CheckOptions, CleanUpOptions, ListOptions, SourceContext } from "../contract/source.ts";
import type { PostgresDurable } from "./declaration/durable.ts";
import type { RelationalDbConfig } from "./declaration/kind.ts";
import { listTables } from "./listing.ts";
import { knownPipe } from "./preflight/known-pipe.ts";
import { preflight } from "./preflight/preflight.ts";
import { connect } from "./server/connection.ts";
import { postgresSourceError } from "./server/errors.ts";
import { dropIdleSlot, dropReplicationObjects } from "./server/slot.ts";
import { SlotHealthProbe } from "./server/slot-health.ts";
import { RelationalSource } from "./source.ts";

export const relationalDbConnector = defineConnector<RelationalDbConfig>({
  async check(config: RelationalDbConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { network, query, pipeId, marks, stored, destination, warn, run } = options;
    const { database } = destination;
    const known = pipeId === undefined ? undefined : await knownPipe(config, pipeId, { marks, stored });
    await preflight({ config, network }, { database, query, known, warn, run }, signal);
  },

  async list(config: RelationalDbConfig, { network, page }: ListOptions, signal: AbortSignal) {
    return await listTables({ config, network }, page, signal);
  },

  async open(config: RelationalDbConfig, context: SourceContext<PostgresDurable>) {
    const { network, sourceIdleTimeoutMs: idleTimeoutMs, pipeId, holder, progress } = context;
    const warn = (message: string | undefined) => progress.warn("reader", message);
    const reader = { pipeId, fence: holder.fence, requireHeld: () => holder.require(), warn };
    return await RelationalSource.open({ config, network, idleTimeoutMs, reader }, context);
  },

  async cleanUp(config: RelationalDbConfig, { network, object }: CleanUpOptions, signal: AbortSignal): Promise<void> {
    await dropReplicationObjects({ config, network }, object, signal);
  },

  watch(config: RelationalDbConfig, { network, object }: CleanUpOptions): SourceWatch {
    const { slotBudgetBytes, slotBudgetAction, replicationSlotName } = config.settings ?? {};
    const isOurs = replicationSlotName !== object.name;
    const wal = new SlotHealthProbe(object.name, slotBudgetBytes);
    return {
      look: async () => {
        await using client = await connect({ config, network });
        try {
          const { gauges, warning, lost } = await wal.poll(client);
          const over = (gauges.slotRetainedBytes ?? 0) > (slotBudgetBytes ?? Number.POSITIVE_INFINITY);
          if (over && isOurs && slotBudgetAction === "drop" && (await dropIdleSlot(client, object.name))) {
            return { gauges: {}, warning: `${warning}; slotBudgetAction dropped it, so the pipe needs a resync` };
          }
          return { gauges, warning: lost ?? warning };
        } catch (error) {
          throw postgresSourceError(error);
        }
      },
    };
  },
});
