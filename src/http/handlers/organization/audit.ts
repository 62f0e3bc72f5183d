/** The audit trail of an organization. */
import type { auditOperations } from "../../../api/audit.ts";
import type { Handlers } from "../../../api/operations.ts";
import type { AuditEventStore } from "../../../store/access/audit-events.ts";
import type { Context } from "../../caller/context.ts";

export function auditHandlers(deps: { auditEvents: AuditEventStore }): Handlers<typeof auditOperations, Context> {
  return {
    listAuditEvents: async ({ params, query }) => {
      const rows = await deps.auditEvents.list(params.organizationId, query.limit, query.type);
      return rows.map((row) => ({
        id: row.id,
        type: row.type,
        createdAt: row.firstAt,
        lastAt: row.lastAt,
        count: row.count,
        actorType: row.actorType,
        actorId: row.actor,
        actorIpAddress: row.address,
        ...(row.serviceId === null ? {} : { serviceId: row.serviceId }),
        details: row.detail,
      }));
    },
  };
}
