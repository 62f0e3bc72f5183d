/** What pipes that are gone have left at their sources. An extension of ours. */
import { z } from "zod";
import { operations, timestamp, uuid } from "./operation.ts";

const object = {
  kind: z.string().describe("`slot`, `publication`, `consumer` or `consumerGroup`"),
  name: z.string(),
};

/** The answer of a command that deletes pipes. */
export const deleted = z
  .object({
    leftovers: z
      .array(z.object(object))
      .describe("What is still at the source and will be removed as soon as the source lets it be"),
  })
  .meta({ id: "Deleted" });

export const leftover = z
  .object({
    id: uuid,
    ...object,
    sourceKind: z.string(),
    serviceId: uuid,
    pipeId: uuid,
    pipeName: z.string(),
    createdAt: timestamp.describe("When the pipe was about to make it"),
    attempts: z.int().describe("Attempts to remove it that have failed"),
    lastError: z.string().optional().describe("Why the last of them failed"),
  })
  .meta({ id: "Leftover" });

const path = "/v1/organizations/{organizationId}/leftovers";
const tag = { tag: "Pipes" } as const;

export const leftoverOperations = operations(tag, {
  listLeftovers: {
    method: "GET",
    storedOnly: true,
    path,
    summary: "Lists what pipes that are gone have left at their sources; it is removed as soon as possible",
    access: "read",
    result: z.array(leftover),
  },
  deleteLeftover: {
    method: "DELETE",
    path: `${path}/{leftoverId}`,
    summary: "Gives a leftover up: it stays at the source, and nobody tries to remove it any more",
    access: "developer",
  },
});
