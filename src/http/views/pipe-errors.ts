/** Refused rows as the API shows them. */
import type { z } from "zod";
import type { pipeErrorGroup, pipeErrorRequest, pipeErrorRow } from "../../api/pipe-errors.ts";
import type { ErrorGroup, ErrorRow } from "../../pipes/control/cleanup/error-rows.ts";
import type { ErrorRequest } from "../../store/pipes/error-requests.ts";

export function errorGroupOf(group: ErrorGroup): z.input<typeof pipeErrorGroup> {
  const [id, message, origin, position, raw] = group.example;
  return {
    id: group.id,
    shape: group.shape,
    rows: Number(group.total),
    records: Number(group.records),
    replayableRows: Number(group.replayable),
    origins: Number(group.origins),
    firstAt: timeOf(group.first),
    lastAt: timeOf(group.last),
    example: { id, message, origin, position, raw },
  };
}

export function errorRowOf(row: ErrorRow): z.input<typeof pipeErrorRow> {
  return {
    id: row.row_id,
    groupId: row.group_id,
    time: timeOf(row.ms),
    origin: row.origin,
    position: row.position,
    message: row.message,
    rows: Number(row.rows),
    raw: row.raw_format === "hex" ? row.raw.slice("hex:".length) : row.raw,
    rawFormat: row.raw_format === "hex" ? "hex" : "text",
    rawSizeBytes: Number(row.raw_size),
    replayable: row.replayable === 1,
    ...(row.tried === null ? {} : { triedAt: timeOf(row.tried) }),
    ...(row.replayed === null ? {} : { replayedAt: timeOf(row.replayed), replayedBy: row.replayed_by }),
  };
}

export function errorRequestOf(request: ErrorRequest): z.input<typeof pipeErrorRequest> {
  return {
    id: request.id,
    kind: request.kind,
    state: request.state,
    requestedBy: request.requestedBy,
    createdAt: request.createdAt,
    ...(request.reason === null ? {} : { reason: request.reason }),
    ...(request.finishedAt === null ? {} : { finishedAt: request.finishedAt }),
    ...(request.selectedRows === null ? {} : { selectedRows: request.selectedRows }),
    ...(request.replayedRows === null ? {} : { replayedRows: request.replayedRows }),
    ...(request.refusedRows === null ? {} : { refusedRows: request.refusedRows }),
  };
}

function timeOf(ms: string): string {
  return new Date(Number(ms)).toISOString();
}
