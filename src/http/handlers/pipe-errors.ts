/** Rows that a pipe refused. */
import type { Handlers } from "../../api/operations.ts";
import type { pipeErrorOperations } from "../../api/pipe-errors.ts";
import { found } from "../../lib/errors.ts";
import type { ErrorRows } from "../../pipes/control/error-rows.ts";
import type { Pipe, PipeStore } from "../../store/pipes.ts";
import type { ServiceStore } from "../../store/services.ts";
import type { Context } from "../context.ts";
import { errorGroupOf, errorRowOf } from "../views/pipe-errors.ts";

export type PipeErrorDeps = {
  readonly pipes: PipeStore;
  readonly services: ServiceStore;
  readonly errorRows: ErrorRows;
};

type PipeParams = { organizationId: string; serviceId: string; pipeId: string };

export function pipeErrorHandlers(deps: PipeErrorDeps): Handlers<typeof pipeErrorOperations, Context> {
  return {
    listPipeErrors: async ({ params, query }, { signal }) => {
      const groups = await deps.errorRows.groups(await find(deps, params), query, query.wake, signal);
      return groups.map(errorGroupOf);
    },
    listPipeErrorRows: async ({ params, query }, { signal }) => {
      const page = await deps.errorRows.page(await find(deps, params), query, query.wake, signal);
      const next = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
      return { rows: page.rows.map(errorRowOf), ...next };
    },
  };
}

async function find(deps: PipeErrorDeps, { organizationId, serviceId, pipeId }: PipeParams): Promise<Pipe> {
  const service = found(await deps.services.findIn(organizationId, serviceId), "Service", serviceId);
  return found(await deps.pipes.findIn(service.id, pipeId), "Pipe", pipeId);
}
