/** What a pipe wrote lately. */
import type { pipeBatchOperations } from "../../../api/pipe-batches.ts";
import type { Stores } from "../../../store/open.ts";
import { findPipe, type Management } from "../lookups.ts";

export function pipeBatchHandlers(
  deps: Pick<Stores, "services" | "pipes" | "batches">,
): Management<keyof typeof pipeBatchOperations> {
  return {
    listPipeBatches: async ({ params, query: { limit, cursor } }) => {
      const pipe = await findPipe(deps, params);
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
