/** Rows that a pipe refused. */

import type { z } from "zod";
import { withoutNulls } from "../../../api/operation.ts";
import { pipeErrorGroup, type pipeErrorOperations, pipeErrorRequest, pipeErrorRow } from "../../../api/pipe-errors.ts";
import type { ErrorGroup, ErrorRow, ErrorRows, Wake } from "../../../pipes/control/cleanup/error-rows.ts";
import type { Stores } from "../../../store/open.ts";
import type { ErrorRequest, ErrorSelection } from "../../../store/pipes/error-requests.ts";
import type { Context } from "../../caller/context.ts";
import { viewOf } from "../../views/view-of.ts";
import { findPipe, type Management, type PipeParams } from "../lookups.ts";

export type PipeErrorDeps = Pick<Stores, "pipes" | "services" | "credentials" | "errorRequests"> & {
  readonly errorRows: ErrorRows;
  /** Triggers a pass of the pipes. */
  readonly poke: () => void;
};

export function pipeErrorHandlers(deps: PipeErrorDeps): Management<keyof typeof pipeErrorOperations> {
  return {
    listPipeErrors: async ({ params, query }, { signal }) => {
      const groups = await deps.errorRows.groups(await findPipe(deps, params), query, query.wake, signal);
      return groups.map(errorGroupOf);
    },
    listPipeErrorRows: async ({ params, query }, { signal }) => {
      const page = await deps.errorRows.page(await findPipe(deps, params), query, query.wake, signal);
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
      const pipe = await findPipe(deps, params);
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
  const pipe = await findPipe(deps, params);
  deps.errorRows.requireEngine(pipe, wake);
  const key = await deps.credentials.findKey(context.organizationId, context.credentialId);
  const requestedBy = key?.name ?? context.credentialId;
  const added = await deps.errorRequests.add({ pipeId: pipe.id, kind, selection, requestedBy });
  deps.poke();
  return errorRequestOf(added);
}

/** Refused rows as the API shows them. */
const groupView = viewOf(pipeErrorGroup);
const rowView = viewOf(pipeErrorRow);
const errorRequestOf: (request: ErrorRequest) => z.input<typeof pipeErrorRequest> = viewOf(pipeErrorRequest);

function errorGroupOf(group: ErrorGroup) {
  const [id, message, origin, position, raw] = group.example;
  return groupView({
    ...group,
    rows: Number(group.total),
    records: Number(group.records),
    replayableRows: Number(group.replayable),
    origins: Number(group.origins),
    firstAt: timeOf(group.first),
    lastAt: timeOf(group.last),
    example: { id, message, origin, position, raw },
  });
}

function errorRowOf(row: ErrorRow) {
  const isHex = row.raw_format === "hex";
  return rowView({
    ...row,
    id: row.row_id,
    groupId: row.group_id,
    time: timeOf(row.ms),
    rows: Number(row.rows),
    raw: isHex ? row.raw.slice("hex:".length) : row.raw,
    rawFormat: isHex ? "hex" : "text",
    rawSizeBytes: Number(row.raw_size),
    replayable: row.replayable === 1,
    triedAt: row.tried && timeOf(row.tried),
    ...(row.replayed === null ? {} : { replayedAt: timeOf(row.replayed), replayedBy: row.replayed_by }),
  });
}

function timeOf(ms: string): string {
  return new Date(Number(ms)).toISOString();
}
