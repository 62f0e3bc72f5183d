/** Rows that a pipe refused. */

import { withoutNulls } from "../../../api/operation.ts";
import type { Handlers } from "../../../api/operations.ts";
import type { pipeErrorOperations } from "../../../api/pipe-errors.ts";
import { found } from "../../../lib/errors.ts";
import type { ErrorRows, Wake } from "../../../pipes/control/cleanup/error-rows.ts";
import type { CredentialStore } from "../../../store/access/credentials.ts";
import type { ErrorRequest, ErrorRequestStore, ErrorSelection } from "../../../store/pipes/error-requests.ts";
import type { Pipe, PipeStore } from "../../../store/pipes/pipes.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";
import { errorGroupOf, errorRequestOf, errorRowOf } from "../../views/pipe-errors.ts";

export type PipeErrorDeps = {
  readonly pipes: PipeStore;
  readonly services: ServiceStore;
  readonly credentials: CredentialStore;
  readonly errorRequests: ErrorRequestStore;
  readonly errorRows: ErrorRows;
  /** Triggers a pass of the pipes. */
  readonly poke: () => void;
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
    replayPipeErrors: async ({ params, query, body }, context) => {
      return await request(deps, params, context, "replay", withoutNulls(body) as ErrorSelection, query.wake);
    },
    discardPipeErrors: async ({ params, query }, context) => {
      const { wake, rowIds, ...rest } = query;
      const selection = { ...rest, ...(rowIds === undefined ? {} : { rowIds: rowIds.split(",") }) };
      return await request(deps, params, context, "discard", selection as ErrorSelection, wake);
    },
    listPipeErrorRequests: async ({ params }) => {
      const pipe = await find(deps, params);
      return (await deps.errorRequests.list(pipe.id)).map(errorRequestOf);
    },
  };
}

/** Records what the pipe's worker is to do. */
async function request(
  deps: PipeErrorDeps,
  params: PipeParams,
  context: Context,
  kind: ErrorRequest["kind"],
  selection: ErrorSelection,
  wake: Wake,
) {
  const pipe = await find(deps, params);
  deps.errorRows.requireEngine(pipe, wake);
  const key = await deps.credentials.findKey(context.organizationId, context.credentialId);
  const requestedBy = key?.name ?? context.credentialId;
  const added = await deps.errorRequests.add({ pipeId: pipe.id, kind, selection, requestedBy });
  deps.poke();
  return errorRequestOf(added);
}

async function find(deps: PipeErrorDeps, { organizationId, serviceId, pipeId }: PipeParams): Promise<Pipe> {
  const service = found(await deps.services.findIn(organizationId, serviceId), "Service", serviceId);
  return found(await deps.pipes.findIn(service.id, pipeId), "Pipe", pipeId);
}
