/** The audit trail: logins and refusals. An extension of the contract. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { operation, timestamp, uuid } from "./operation.ts";

export const auditEventTypes = [
  "login",
  "login_refused",
  "address_refused",
  "statement_refused",
  "leftover_given_up",
] as const;

export const auditEvent = z
  .object({
    id: z.string(),
    type: z.enum(auditEventTypes),
    createdAt: timestamp.describe("Time of the first of the identical events in this record"),
    lastAt: timestamp.describe("Time of the last of the identical events"),
    count: z
      .int()
      .describe("Number of identical events; for logins with keys and tokens, the number of minutes with requests"),
    actorType: z.enum(["api_key", "access_token", "database_user"]),
    actorId: z.string().describe("Id of the key or token, or name of the database user"),
    actorIpAddress: z.string(),
    serviceId: uuid.optional().describe("Service of the database user"),
    details: z.string().describe("Reason of a refusal, or the leftover that was given up"),
  })
  .meta({ id: "AuditEvent" });

export const auditOperations = {
  listAuditEvents: operation({
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/auditEvents",
    tag: "Organizations",
    summary:
      "Lists logins, refusals and leftovers given up, newest first; the newest 2,500 events of each type are kept",
    access: "admin",
    query: z.object({
      limit: numberText(z.int().min(1).max(1_000)).default(100).describe("Maximum number of events to return"),
      type: z.enum(auditEventTypes).optional(),
    }),
    result: z.array(auditEvent),
  }),
};
