/** What pipes wrote lately. An extension of the contract. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { operation, timestamp } from "./operation.ts";

export const pipeBatch = z
  .object({
    id: z.string().describe("The batch, as in the token of its insert"),
    lane: z.string().describe("Partition, shard or table, or the batch itself where order does not matter"),
    rows: z.int().describe("Rows written"),
    bytes: z.int().describe("Bytes written, as the engine counts them"),
    refusedRows: z.int(),
    replayedRows: z.int().describe("Refused rows that the batch has replayed"),
    startedAt: timestamp,
    finishedAt: timestamp,
    durationMs: z.int(),
  })
  .meta({ id: "PipeBatch" });

export const pipeBatchOperations = {
  listPipeBatches: operation({
    tag: "Pipes",
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/batches",
    summary: "Lists the batches that the pipe wrote, newest first; the newest 1,000 with rows are kept",
    access: "read",
    query: z.object({
      limit: numberText(z.int().min(1).max(1_000)).default(100),
      cursor: z
        .string()
        .regex(/^\d{1,15}$/, { error: "is not a cursor of this list" })
        .optional(),
    }),
    result: z.object({
      batches: z.array(pipeBatch),
      nextCursor: z.string().optional().describe("Send it as `cursor` for the next page; absent on the last one"),
    }),
  }),
};
