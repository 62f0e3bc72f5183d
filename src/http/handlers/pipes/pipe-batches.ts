/** What a pipe wrote lately. */
import type { Handlers } from "../../../api/operations.ts";
import type { pipeBatchOperations } from "../../../api/pipe-batches.ts";
import { found } from "../../../lib/errors.ts";
import type { BatchStore } from "../../../store/pipes/pipe-batches.ts";
import type { PipeStore } from "../../../store/pipes/pipes.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";

export type PipeBatchDeps = {
  readonly pipes: PipeStore;
  readonly services: ServiceStore;
  readonly batches: BatchStore;
};

export function pipeBatchHandlers(deps: PipeBatchDeps): Handlers<typeof pipeBatchOperations, Context> {
  return {
    listPipeBatches: async ({ params: { organizationId, serviceId, pipeId }, query: { limit, cursor } }) => {
      const service = found(await deps.services.findIn(organizationId, serviceId), "Service", serviceId);
      const pipe = found(await deps.pipes.findIn(service.id, pipeId), "Pipe", pipeId);
      const before = cursor === undefined ? undefined : Number(cursor);
      const batches = await deps.batches.list(pipe.id, limit + 1, before);
      const page = batches.slice(0, limit);
      const last = page.at(-1);
      return {
        batches: page.map(({ seq: _, batchId: id, ...batch }) => {
          return { id, ...batch, durationMs: Date.parse(batch.finishedAt) - Date.parse(batch.startedAt) };
        }),
        ...(last === undefined || batches.length <= limit ? {} : { nextCursor: String(last.seq) }),
      };
    },
  };
}
