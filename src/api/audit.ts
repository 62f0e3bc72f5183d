/** The audit trail: logins and refusals. An extension of the contract. */
import { z } from "zod";
import { operation, timestamp, uuid } from "./operation.ts";

export const auditEventTypes = ["login", "login_refused", "address_refused", "statement_refused"] as const;

export const auditEvent = z
  .object({
    id: z.string(),
    type: z.enum(auditEventTypes),
    createdAt: timestamp.describe("First of the equal events that the record stands for"),
    lastAt: timestamp.describe("Last of them"),
    count: z.int().describe("How many; for keys and tokens that are let in, how many minutes of use"),
    actorType: z.enum(["api_key", "access_token", "database_user"]),
    actorId: z.string().describe("Id of the key or token, or name of the database user"),
    actorIpAddress: z.string(),
    serviceId: uuid.optional().describe("The service whose user it is"),
    details: z.string().describe("Why, for a refusal"),
  })
  .meta({ id: "AuditEvent" });

export const auditOperations = {
  listAuditEvents: operation({
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/auditEvents",
    tag: "Organizations",
    summary: "Lists logins and refusals, newest first; a bounded number of each type is kept",
    access: "admin",
    params: z.object({ organizationId: uuid }),
    query: z.object({
      limit: z.coerce.number().int().min(1).max(1_000).default(100).describe("Most events to return"),
      type: z.enum(auditEventTypes).optional(),
    }),
    result: z.array(auditEvent),
  }),
};
