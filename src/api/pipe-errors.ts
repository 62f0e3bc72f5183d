/** Refused rows of pipes: causes, replay and discard. An extension of the contract. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { operations, timestamp, uuid } from "./operation.ts";

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
    shape: z.string().describe("The message, without quoted values and numbers; those of types stay"),
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

export const pipeErrorRequest = z
  .object({
    id: uuid,
    kind: z.enum(["replay", "discard"]),
    state: z.enum(["pending", "done", "failed"]),
    reason: z.string().optional().describe("Why the request failed"),
    requestedBy: z.string().describe("Name of the API key"),
    createdAt: timestamp,
    finishedAt: timestamp.optional(),
    selectedRows: z.int().optional().describe("Number of rows that the request selects, once it has begun"),
    replayedRows: z.int().optional().describe("Rows that are in the destination table now"),
    refusedRows: z.int().optional().describe("Rows that the replay refused again, with their new reason"),
  })
  .meta({ id: "PipeErrorRequest" });

const selection = {
  group: groupId.nullish().describe("Rows of this group"),
  from: filters.from.nullish(),
  to: filters.to.nullish(),
  origin: filters.origin.nullish(),
};
const nothing = { error: "must select rows by group, from, to, origin or row ids" };
const replayBody = z
  .strictObject({ ...selection, rowIds: z.array(rowId).min(1).max(1_000).nullish() })
  .refine((body) => Object.values(body).some((value) => value !== null && value !== undefined), nothing);
const rowIdList = z.string().regex(/^[0-9a-f]{32}(,[0-9a-f]{32}){0,99}$/, {
  error: "must be up to 100 ids of refused rows, separated by commas",
});

const page = { limit: numberText(z.int().min(1).max(1_000)).default(100), cursor: z.string().max(200).optional() };

const root = "/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/errors";
const tag = { tag: "Pipes" } as const;

export const pipeErrorOperations = operations(tag, {
  listPipeErrors: {
    method: "GET",
    path: root,
    summary: "Lists why the pipe refused rows: groups of rows with one cause, the largest first, at most 200",
    access: "read",
    query: z.object(reading),
    result: z.array(pipeErrorGroup),
  },
  listPipeErrorRows: {
    method: "GET",
    path: `${root}/rows`,
    summary: "Lists refused rows with their bytes, newest first; rows are kept for 7 days",
    access: "read",
    query: z.object({ ...reading, ...page, group: groupId.optional() }),
    result: z.object({
      rows: z.array(pipeErrorRow),
      nextCursor: z.string().optional().describe("Send it as `cursor` for the next page; absent on the last one"),
    }),
  },
  replayPipeErrors: {
    method: "POST",
    path: `${root}/replay`,
    summary: "Loads refused rows again, exactly once, through the pipe's present definition; also of a stopped pipe",
    access: "developer",
    query: z.object({ wake: wake.default("auto") }),
    body: replayBody,
    result: pipeErrorRequest,
  },
  discardPipeErrors: {
    method: "DELETE",
    path: root,
    summary: "Deletes refused rows that are not in the destination table",
    access: "developer",
    query: z
      .object({ ...filters, group: groupId.optional(), rowIds: rowIdList.optional(), wake: wake.default("auto") })
      .refine(({ wake: _, ...rest }) => Object.keys(rest).length > 0, nothing),
    result: pipeErrorRequest,
  },
  listPipeErrorRequests: {
    method: "GET",
    storedOnly: true,
    path: `${root}/requests`,
    summary: "Lists replays and discards of the pipe, newest first; the newest 100 finished ones are kept",
    access: "read",
    result: z.array(pipeErrorRequest),
  },
});
