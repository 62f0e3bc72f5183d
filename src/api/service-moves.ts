/** Moving a service to a ClickHouse server that exists. */
import { z } from "zod";
import { operations, timestamp, uuid } from "./operation.ts";
import { serverConnection } from "./service-connections.ts";

const targetMembers = {
  connection: serverConnection.optional().describe("How the server is reached that receives the service"),
  targetServiceId: uuid.optional().describe("An external service whose connection is used instead; it stays as it is"),
};

type TargetBody = { readonly connection?: unknown; readonly targetServiceId?: unknown };
const oneTarget = (body: TargetBody) => (body.connection === undefined) !== (body.targetServiceId === undefined);
const oneTargetError = { error: "must contain either connection or targetServiceId" };

const object = z.object({
  kind: z.enum(["table", "view", "materializedView", "dictionary", "function"]),
  database: z.string().optional(),
  name: z.string(),
  rows: z.int().optional().describe("Rows of a table"),
  bytes: z.int().optional().describe("Bytes of a table, uncompressed"),
});

const problem = z.object({
  object: z.string().optional().describe("`database.name`; absent for the server itself"),
  message: z.string(),
});

export const movePlan = z
  .object({
    objects: z.array(object).describe("What is moved"),
    leftBehind: z.array(problem).describe("What cannot be moved, with the reason; requires `leaveBehind`"),
    problems: z.array(problem).describe("Why the server cannot receive the service"),
    totalRows: z.int(),
    totalBytes: z.int().describe("Uncompressed"),
  })
  .meta({ id: "ServiceMovePlan" });

export const moveRecord = z
  .object({
    id: uuid,
    serviceId: uuid,
    status: z
      .enum(["copying", "switching", "completed", "cancelled"])
      .describe("`copying`: the service goes on. `switching`: it is stopped for the last part"),
    message: z.string().optional().describe("Why the last attempt failed; the move tries again by itself"),
    cancelRequested: z.boolean(),
    progress: z.object({
      copiedRows: z.int(),
      totalRows: z.int(),
      copiedBytes: z.int().describe("Uncompressed"),
      totalBytes: z.int(),
      secondsLeft: z.int().optional().describe("At the speed so far; absent while nothing is known"),
    }),
    oldServiceId: uuid.optional().describe("The stopped service that keeps the old side"),
    createdAt: timestamp,
    finishedAt: timestamp.optional(),
  })
  .meta({ id: "ServiceMove" });

const root = "/v1/organizations/{organizationId}/services/{serviceId}";
const tag = { tag: "Services" } as const;

export const serviceMoveOperations = operations(tag, {
  planServiceMove: {
    method: "POST",
    path: `${root}/movePlan`,
    readsOnly: true,
    summary: "Says what a move to a ClickHouse server would take along and what not; changes nothing",
    access: "admin",
    body: z.strictObject(targetMembers).refine(oneTarget, oneTargetError),
    result: movePlan,
  },
  moveService: {
    method: "POST",
    path: `${root}/move`,
    summary: "Moves an embedded service with its data, pipes and users to a ClickHouse server; the old side is kept",
    access: "admin",
    body: z
      .strictObject({
        ...targetMembers,
        leaveBehind: z.boolean().optional().describe("Moves the rest if some objects cannot be moved"),
      })
      .refine(oneTarget, oneTargetError),
    result: moveRecord,
  },
  getServiceMove: {
    method: "GET",
    storedOnly: true,
    path: `${root}/move`,
    summary: "Gets the newest move of a service with its progress",
    access: "read",
    result: moveRecord,
  },
  cancelServiceMove: {
    method: "DELETE",
    path: `${root}/move`,
    summary: "Cancels a move: what it has made on the server is removed, and the service stays as it is",
    access: "admin",
    result: moveRecord,
  },
});
