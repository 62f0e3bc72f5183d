/** Refused rows as the API shows them. */
import type { z } from "zod";
import { pipeErrorGroup, pipeErrorRequest, pipeErrorRow } from "../../api/pipe-errors.ts";
import type { ErrorGroup, ErrorRow } from "../../pipes/control/cleanup/error-rows.ts";
import type { ErrorRequest } from "../../store/pipes/error-requests.ts";
import { viewOf } from "./view-of.ts";

const groupView = viewOf(pipeErrorGroup);
const rowView = viewOf(pipeErrorRow);
export const errorRequestOf: (request: ErrorRequest) => z.input<typeof pipeErrorRequest> = viewOf(pipeErrorRequest);

export function errorGroupOf(group: ErrorGroup) {
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

export function errorRowOf(row: ErrorRow) {
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
