/** All pipes of an organization at once, with what an operator looks at first. An extension of the contract. */
import { z } from "zod";
import { type SourceKindKey, sourceKindKeys } from "../sources/contract/descriptions.ts";
import { commaSeparated, cursorQuery, operation, timestamp, uuid, version } from "./operation.ts";
import { pipeStates } from "./pipes.ts";

const kinds = sourceKindKeys as [SourceKindKey, ...SourceKindKey[]];

export const lagTrends = ["growing", "steady", "shrinking"] as const;

const count = z.number().min(0);

const lag = z
  .object({
    rows: count.optional().describe("Messages at the source that are not yet loaded"),
    bytes: count.optional().describe("Bytes of the source's log, or of its objects, that are not yet loaded"),
    files: count.optional().describe("Objects that were found and are not yet loaded"),
    seconds: count
      .optional()
      .describe(
        "How far the pipe is behind in time: of the partition or shard that is furthest behind; for objects, the time since the oldest pending one was found",
      ),
    trend: z.enum(lagTrends).optional().describe("Over the last 30 seconds; known after 10"),
    etaSeconds: count.optional().describe("Seconds until nothing is left, at the present speed; absent while it grows"),
  })
  .meta({ id: "PipeLag" });

export const pipeSummary = z
  .object({
    id: uuid,
    name: z.string(),
    serviceId: uuid,
    serviceName: z.string(),
    kind: z.enum(kinds).describe("Kind of the source"),
    destination: z.object({ database: z.string().optional(), table: z.string().optional() }),
    state: z.enum(pipeStates),
    stateChangedAt: timestamp.optional().describe("Since when the pipe has this state"),
    stateMessage: z.string().optional().describe("Reason of the present state"),
    lastSuccessAt: timestamp
      .optional()
      .describe("When rows were last durable in the destination; whatever the state is"),
    lastError: z
      .object({ message: z.string(), at: timestamp })
      .optional()
      .describe(
        "The last reason for which the pipe was not well, and when that began; it stays after the pipe is well",
      ),
    workers: z.int().describe("Running worker processes"),
    rates: z
      .object({ rowsPerSecond: count, bytesPerSecond: count })
      .optional()
      .describe("Written to the destination, mean of the last 10 seconds; absent without workers"),
    lag: lag.optional().describe("Distance from the end of the source; a member that is not known is absent"),
    latencySeconds: count
      .optional()
      .describe(
        "Age of the newest data when it was loaded; absent without workers, and for sources without such a time",
      ),
    rows: z.int().optional().describe("Rows written to the destination since the pipe was created"),
    bytes: z.int().optional().describe("Bytes written to the destination, uncompressed"),
    errors: z.int().optional().describe("Rows, objects and gaps of the source that could not be loaded"),
    refusedRows: z.int().optional().describe("The rows among `errors`"),
    refusedObjects: z.int().optional().describe("The objects among `errors`"),
    version,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "PipeSummary" });

export const pipeSortKeys = [
  "createdAt",
  "name",
  "service",
  "state",
  "stateChangedAt",
  "lag",
  "rowsPerSecond",
] as const;

export const pipeListOperations = {
  listAllPipes: operation({
    method: "GET",
    sampled: true,
    path: "/v1/organizations/{organizationId}/pipes",
    tag: "Pipes",
    summary:
      "Lists the pipes of all services with state, rates, lag, last success and last error; numbers are sampled every 2 seconds",
    access: "read",
    query: z.object({
      ...cursorQuery,
      state: commaSeparated(pipeStates).optional().describe("Only pipes in one of these states"),
      kind: commaSeparated(kinds).optional().describe("Only pipes with a source of one of these kinds"),
      serviceId: uuid.optional().describe("Only pipes of this service"),
      name: z.string().max(255).optional().describe("Only pipes whose name contains this text, in upper or lower case"),
      sort: z
        .enum(pipeSortKeys)
        .default("createdAt")
        .describe("Order of the list; pipes without the value come last. `lag` is in seconds"),
      order: z.enum(["asc", "desc"]).default("asc"),
    }),
    result: z.object({
      pipes: z.array(pipeSummary),
      total: z.int().describe("Pipes that match the filters, on all pages"),
      nextCursor: z.string().optional().describe("Names the next page; absent on the last one"),
    }),
  }),
};
