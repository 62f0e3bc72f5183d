/**
 * Alerts, connections, dashboards, saved searches and webhooks under the path of a service. Ours are those of the
 * organization, and so they are the same under every service.
 */
import { z } from "zod";
import { alertOperations } from "../api/alerts.ts";
import { connectionOperations } from "../api/connections.ts";
import { dashboardOperations } from "../api/dashboards.ts";
import type { Operation } from "../api/operation.ts";
import { offsetQuery, savedSearchOperations } from "../api/saved-searches.ts";
import { webhookOperations } from "../api/webhooks.ts";
import type { Run, Untyped } from "./route.ts";

const { listAlertEvaluations: _, ...alerts } = alertOperations;

/** Those that their API has, by id. */
export const observabilityOperationsOfServices: Readonly<Record<string, Operation>> = {
  ...alerts,
  ...connectionOperations,
  ...dashboardOperations,
  ...savedSearchOperations,
  ...webhookOperations,
};

/** The schema of what they answer: the data alone. Undefined for a deletion. */
export function dataSchemaOf({ result }: Operation): z.ZodType | undefined {
  if (!(result instanceof z.ZodObject) || Object.keys(result.shape).length === 0) return undefined;
  return (result.shape.data as z.ZodType | undefined) ?? result;
}

/** Every list takes them; without them it is whole. */
export const pageQuery = z.object({
  limit: offsetQuery.limit.unwrap().optional(),
  offset: offsetQuery.offset.unwrap().optional(),
});

export function isList({ method, path }: Operation): boolean {
  return method === "GET" && !path.endsWith("}");
}

/** Most objects of a page. */
const pageSize = 1000;

/** Calls the operation once the service exists. A list is read to its end. */
export function underService(id: string, operation: Operation): Run {
  return async (call, { params, query, body }) => {
    const { organizationId = "", serviceId = "", ...own } = params;
    await call("getService", { params: { organizationId, serviceId } });
    if (!isList(operation)) {
      const made = await call(id, { params: own, body });
      return made.data ?? (Object.keys(made).length === 0 ? undefined : made);
    }
    if (query.limit !== undefined || query.offset !== undefined) return (await call(id, { params: {}, query })).data;
    const all: Untyped[] = [];
    for (;;) {
      const { data, meta } = await call(id, { params: {}, query: { limit: pageSize, offset: all.length } });
      all.push(...data);
      // Connections come on one page.
      if (data.length === 0 || all.length >= (meta?.total ?? 0)) return all;
    }
  };
}
