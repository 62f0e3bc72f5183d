/** The handlers of the observability API. */
import type { ChartsRoom } from "../charts/open.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import type { OrganizationLimits } from "../store/limits.ts";
import type { Stores } from "../store/open.ts";
import { alertHandlers } from "./handlers/alerts.ts";
import { chartSourceHandlers } from "./handlers/chart-sources.ts";
import { chartHandlers } from "./handlers/charts.ts";
import { connectionHandlers } from "./handlers/connections.ts";
import { exploreHandlers } from "./handlers/explore.ts";
import { savedDocumentHandlers } from "./handlers/saved-documents.ts";
import { webhookHandlers } from "./handlers/webhooks.ts";
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

export function observabilityHandlers({
  stores,
  charts,
  limits,
  endpoint,
  webhookPolicy,
  pokeAlerts,
}: ObservabilityParts) {
  const { chartSources: sources, services } = stores;
  return {
    ...chartHandlers(charts.charts),
    ...chartSourceHandlers({ sources, services, limits }),
    ...exploreHandlers({ ...charts, services }),
    ...connectionHandlers({ services, endpoint }),
    ...savedDocumentHandlers({ ...stores, sources, limits }),
    ...webhookHandlers({ webhooks: stores.webhooks, policy: webhookPolicy, limits }),
    ...alertHandlers({ ...stores, limits, poke: pokeAlerts }),
  };
}
