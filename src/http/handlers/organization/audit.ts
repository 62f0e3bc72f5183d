/** The audit trail of an organization. */
import { auditEvent, type auditOperations } from "../../../api/audit.ts";
import type { Stores } from "../../../store/open.ts";
import { viewOf } from "../../views/view-of.ts";
import type { Management } from "../lookups.ts";

const eventView = viewOf(auditEvent);

export function auditHandlers({ auditEvents }: Pick<Stores, "auditEvents">): Management<keyof typeof auditOperations> {
  return {
    listAuditEvents: async ({ params, query }) => {
      const rows = await auditEvents.list(params.organizationId, query.limit, query.type);
      return rows.map((row) => {
        const { actor: actorId, address: actorIpAddress, detail: details, firstAt: createdAt } = row;
        return eventView({ ...row, actorId, actorIpAddress, details, createdAt });
      });
    },
  };
}
