/** The push connector: reads what the control plane has accepted for the pipe. Nothing is connected to. */
import { memberError } from "../../lib/errors.ts";
import { defineConnector } from "../contract/define-connector.ts";
import { requireTable } from "../contract/destination.ts";
import type { CheckOptions, RowReplayContext, SourceContext, TargetTable } from "../contract/source.ts";
import { type KeptMessage, keptColumns } from "../messages/facts.ts";
import { batchLimits } from "../messages/limits.ts";
import { MessageReplay } from "../messages/message-replay.ts";
import { planRows, type RowPlan } from "../messages/plan.ts";
import { divisionOf, formatOf } from "./bodies/formats.ts";
import { BodyBatches } from "./body-batches.ts";
import type { PushDurable } from "./declaration/durable.ts";
import type { PushConfig } from "./declaration/kind.ts";
import { type PushMessage, pushVirtualColumns } from "./message.ts";
import { OtlpBatches } from "./otlp/otlp-batches.ts";
import { checkTables, layout, prepareTables } from "./otlp/tables.ts";
import { InboxReader } from "./reader.ts";
import { RowBatches } from "./row-batches.ts";
import { rowFormatOf } from "./row-format.ts";
import { PushSource } from "./source.ts";

export const pushConnector = defineConnector<PushConfig>({
  async check(config: PushConfig, { destination, query, run, validateSamples, pipeId }: CheckOptions): Promise<void> {
    if (destination.kind === "table") await run.check("mapping", () => planOf(config, destination));
    else await run.check("tables", () => checkTables(query, destination.database));
    if (!validateSamples || pipeId !== undefined) return;
    await run.check("samples", () => {
      throw memberError("SOURCE_INVALID", "validateSamples", "nothing is sent to a pipe before it exists");
    });
  },

  async open(config: PushConfig, context: SourceContext<PushDurable>) {
    const { inbox, destination, settings, memoryGb } = context;
    const limits = batchLimits(memoryGb, Number(settings.streaming_max_insert_wait_ms));
    if (destination.target.kind === "owned") {
      const { database } = destination.target;
      await prepareTables(destination, database, config.ttlDays);
      const reader = new InboxReader(await inbox.folder());
      return new PushSource({ context, inbox, maker: new OtlpBatches({ reader, database, limits }) });
    }
    const plan = planOf(config, requireTable(destination.target), settings.database_lenient_values === true);
    const division = divisionOf(config);
    const form = division.kind === "whole" ? undefined : division.form;
    const reader = new InboxReader(await inbox.folder(), form);
    if (form === undefined) return new PushSource({ context, inbox, maker: new BodyBatches(reader, plan) });
    const encoder = rowFormatOf(config, pushVirtualColumns).encoder(plan);
    return new PushSource({
      ...{ context, inbox },
      maker: new RowBatches({ reader, encoder, limits, query: destination.query }),
    });
  },

  createdTables: ({ format }) => (format === "otlp" ? layout() : []),

  async rowReplay(config: PushConfig, context: RowReplayContext) {
    const columns = keptColumns(pushVirtualColumns);
    return new MessageReplay(rowFormatOf<KeptMessage>(config, columns), columns, context);
  },
});

/** The columns that are not in the body can be added to rows only. */
function planOf(config: PushConfig, destination: TargetTable, isLenient = false): RowPlan<PushMessage> {
  const columns = divisionOf(config).kind === "whole" ? {} : pushVirtualColumns;
  const format = formatOf(config);
  if (format === "otlp") throw new TypeError("the connector owns the tables of this format");
  return planRows(destination, format, columns, isLenient);
}
