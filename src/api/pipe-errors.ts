/** Rows that pipes refused: why, and again. An extension of the contract. */
import { z } from "zod";
import { operation, timestamp, uuid } from "./operation.ts";

const rowId = z.string().regex(/^[0-9a-f]{32}$/, { error: "must be the id of a refused row" });
const groupId = z.string().regex(/^[0-9a-f]{16}$/, { error: "must be the id of a group of refused rows" });

const wake = z
  .enum(["never", "auto"])
  .describe("`auto` wakes a sleeping service and counts as its activity; with `never` such a request is refused");

const filters = {
  from: timestamp.optional().describe("Refused at this time or later"),
  to: timestamp.optional().describe("Refused before this time"),
  origin: z.string().max(4096).optional().describe("Partition, shard, object or table"),
};

const reading = {
  ...filters,
  state: z
    .enum(["refused", "replayed", "all"])
    .default("refused")
    .describe("`refused` selects the rows that are not in the destination table"),
  wake: wake.default("never"),
};

export const pipeErrorGroup = z
  .object({
    id: groupId,
    shape: z.string().describe("The message, without quoted values and numbers"),
    rows: z.int().describe("Number of rows"),
    records: z.int().describe("Number of records; one may stand for several rows"),
    replayableRows: z.int().describe("Rows whose bytes are kept completely"),
    origins: z.int().describe("Number of different origins"),
    firstAt: timestamp,
    lastAt: timestamp,
    example: z.object({
      id: rowId,
      message: z.string(),
      origin: z.string(),
      position: z.string(),
      raw: z.string().describe("The first 1,000 characters"),
    }),
  })
  .meta({ id: "PipeErrorGroup" });

export const pipeErrorRow = z
  .object({
    id: rowId,
    groupId,
    time: timestamp,
    origin: z.string(),
    position: z.string().describe("Offset, sequence number, row or version; empty for a whole object"),
    message: z.string(),
    rows: z.int().describe("Number of rows that the record stands for"),
    raw: z.string().describe("The bytes of the row, or the beginning of them"),
    rawFormat: z.enum(["text", "hex"]),
    rawSizeBytes: z.int().describe("Size of the row at the source"),
    replayable: z.boolean().describe("Whether everything that a replay needs is kept"),
    triedAt: timestamp.optional().describe("Last replay that refused the row again"),
    replayedAt: timestamp.optional(),
    replayedBy: z.string().optional().describe("Name of the API key that asked for the replay"),
  })
  .meta({ id: "PipeErrorRow" });

const page = { limit: z.coerce.number().int().min(1).max(1_000).default(100), cursor: z.string().max(200).optional() };

const params = z.object({ organizationId: uuid, serviceId: uuid, pipeId: uuid });
const root = "/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errors";
const tag = { tag: "Pipes" } as const;

export const pipeErrorOperations = {
  listPipeErrors: operation({
    ...tag,
    method: "GET",
    path: root,
    summary: "Lists why the pipe refused rows: groups of rows with one cause, the largest first, at most 200",
    access: "read",
    params,
    query: z.object(reading),
    result: z.array(pipeErrorGroup),
  }),
  listPipeErrorRows: operation({
    ...tag,
    method: "GET",
    path: `${root}/rows`,
    summary: "Lists refused rows with their bytes, newest first; rows are kept for 7 days",
    access: "read",
    params,
    query: z.object({ ...reading, ...page, group: groupId.optional() }),
    result: z.object({
      rows: z.array(pipeErrorRow),
      nextCursor: z.string().optional().describe("Send it as `cursor` for the next page; absent on the last one"),
    }),
  }),
};
