/** The audit trail of an organization. */
import { auditEvent, type auditOperations } from "../../../api/audit.ts";
import type { Handlers } from "../../../api/operations.ts";
import type { AuditEventStore } from "../../../store/access/audit-events.ts";
import type { Context } from "../../caller/context.ts";
import { viewOf } from "../../views/view-of.ts";

const eventView = viewOf(auditEvent);

export function auditHandlers(deps: { auditEvents: AuditEventStore }): Handlers<typeof auditOperations, Context> {
  return {
    listAuditEvents: async ({ params, query }) => {
      const rows = await deps.auditEvents.list(params.organizationId, query.limit, query.type);
      return rows.map((row) => {
        const { actor: actorId, address: actorIpAddress, detail: details, firstAt: createdAt } = row;
        return eventView({ ...row, actorId, actorIpAddress, details, createdAt });
      });
    },
  };
}
