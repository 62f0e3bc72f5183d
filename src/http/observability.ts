/** The handlers of the observability API. */
import type { ChartsRoom } from "../charts/open.ts";
import type { OrganizationLimits } from "../store/limits.ts";
import type { Stores } from "../store/open.ts";
import { chartSourceHandlers } from "./handlers/chart-sources.ts";
import { chartHandlers } from "./handlers/charts.ts";
import { connectionHandlers } from "./handlers/connections.ts";
import { exploreHandlers } from "./handlers/explore.ts";
import { savedDocumentHandlers } from "./handlers/saved-documents.ts";
import type { EndpointFacts } from "./views/services.ts";

export type ObservabilityParts = {
  readonly stores: Pick<Stores, "chartSources" | "services" | "credentials" | "savedSearches" | "dashboards">;
  readonly charts: ChartsRoom;
  readonly limits: OrganizationLimits;
  readonly endpoint: EndpointFacts;
};

export function observabilityHandlers({ stores, charts, limits, endpoint }: ObservabilityParts) {
  const { chartSources: sources, services } = stores;
  return {
    ...chartHandlers(charts.charts),
    ...chartSourceHandlers({ sources, services, limits }),
    ...exploreHandlers({ ...charts, services }),
    ...connectionHandlers({ services, endpoint }),
    ...savedDocumentHandlers({ ...stores, sources, limits }),
  };
}
