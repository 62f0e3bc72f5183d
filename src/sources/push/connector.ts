/** The push connector: reads what the control plane has accepted for the pipe. Nothing is connected to. */
import { AppError } from "../../lib/errors.ts";
import { defineConnector } from "../define-connector.ts";
import { requireTable } from "../destination.ts";
import { type KeptMessage, keptColumns } from "../messages/facts.ts";
import { batchLimits } from "../messages/limits.ts";
import { MessageReplay } from "../messages/message-replay.ts";
import { planRows } from "../messages/plan.ts";
import type { CheckOptions, RowReplayContext, SourceContext } from "../source.ts";
import { divisionOf } from "./bodies/formats.ts";
import type { PushDurable } from "./durable.ts";
import type { PushConfig } from "./kind.ts";
import { pushVirtualColumns } from "./message.ts";
import { InboxReader } from "./reader.ts";
import { rowFormatOf } from "./row-format.ts";
import { PushSource } from "./source.ts";

export const pushConnector = defineConnector<PushConfig>({
  async check(config: PushConfig, { destination, run, validateSamples, pipeId }: CheckOptions): Promise<void> {
    await run.check("mapping", () =>
      planRows(requireTable(destination), rowFormatOf(config, pushVirtualColumns).format, pushVirtualColumns),
    );
    if (!validateSamples || pipeId !== undefined) return;
    await run.check("samples", () => {
      throw new AppError("SOURCE_INVALID", "validateSamples: nothing is sent to a pipe before it exists.");
    });
  },

  async open(config: PushConfig, context: SourceContext<PushDurable>) {
    const { inbox, destination, settings } = context;
    const folder = await inbox.folder();
    const rows = rowFormatOf(config, pushVirtualColumns);
    const isLenient = settings.database_lenient_values === true;
    const plan = planRows(requireTable(destination.target), rows.format, pushVirtualColumns, isLenient);
    const division = divisionOf(config);
    return new PushSource({
      ...{ context, inbox },
      reader: new InboxReader(folder, division.kind === "whole" ? { kind: "lines" } : division.form),
      encoder: rows.encoder(plan),
      limits: batchLimits(context.memoryGb, Number(settings.streaming_max_insert_wait_ms)),
    });
  },

  async rowReplay(config: PushConfig, context: RowReplayContext) {
    const columns = keptColumns(pushVirtualColumns);
    return new MessageReplay(rowFormatOf<KeptMessage>(config, columns), columns, context);
  },
});
