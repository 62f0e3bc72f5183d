/** The handlers of the observability API. */
import type { ChartsRoom } from "../charts/open.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import type { OrganizationLimits } from "../store/database/limits.ts";
import type { Stores } from "../store/open.ts";
import { alertHandlers } from "./handlers/saved/alerts.ts";
import { chartSourceHandlers } from "./handlers/saved/chart-sources.ts";
import { chartHandlers } from "./handlers/saved/charts.ts";
import { exploreHandlers } from "./handlers/saved/explore.ts";
import { savedDocumentHandlers } from "./handlers/saved/saved-documents.ts";
import { webhookHandlers } from "./handlers/saved/webhooks.ts";
import { connectionHandlers } from "./handlers/services/connections.ts";
import type { EndpointFacts } from "./views/services.ts";

export type ObservabilityParts = {
  readonly stores: Stores;
  readonly charts: ChartsRoom;
  readonly limits: OrganizationLimits;
  readonly endpoint: EndpointFacts;
  /** Where webhooks may be. */
  readonly webhookPolicy: OutgoingPolicy;
  /** Triggers a pass of the loop that evaluates alerts. */
  readonly pokeAlerts: () => void;
};

export function observabilityHandlers(parts: ObservabilityParts) {
  const { stores, charts, limits, endpoint, webhookPolicy, pokeAlerts } = parts;
  return {
    ...chartHandlers(charts.charts),
    ...chartSourceHandlers({ ...stores, limits }),
    ...exploreHandlers({ ...stores, ...charts }),
    ...connectionHandlers({ ...stores, endpoint }),
    ...savedDocumentHandlers({ ...stores, limits }),
    ...webhookHandlers({ ...stores, policy: webhookPolicy, limits }),
    ...alertHandlers({ ...stores, limits, poke: pokeAlerts }),
  };
}
