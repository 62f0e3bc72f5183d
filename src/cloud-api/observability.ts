/**
 * Alerts, dashboards, saved searches and webhooks under the path of a service. Ours are those of the organization, and
 * so they are the same under every service.
 */
import { z } from "zod";
import { alertOperations } from "../api/alerts.ts";
import { dashboardOperations } from "../api/dashboards.ts";
import type { Operation } from "../api/operation.ts";
import { savedSearchOperations } from "../api/saved-searches.ts";
import { webhookOperations } from "../api/webhooks.ts";
import type { Run, Untyped } from "./route.ts";

const { listAlertEvaluations: _, ...alerts } = alertOperations;
const { validateDashboard: __, ...dashboards } = dashboardOperations;

/** Those that their API has, by id. */
export const observabilityOperationsOfServices: Readonly<Record<string, Operation>> = {
  ...alerts,
  ...dashboards,
  ...savedSearchOperations,
  ...webhookOperations,
};

/** The schema of what they answer: the data alone. Undefined for a deletion. */
export function dataSchemaOf({ result }: Operation): z.ZodType | undefined {
  return result instanceof z.ZodObject ? (result.shape.data as z.ZodType | undefined) : undefined;
}

/** Most objects of a page. */
const pageSize = 1000;

/** Calls the operation once the service exists. A list is read to its end. */
export function underService(id: string, { method, path }: Operation): Run {
  const isList = method === "GET" && !path.endsWith("}");
  return async (call, { params, body }) => {
    const { organizationId = "", serviceId = "", ...own } = params;
    await call("getService", { params: { organizationId, serviceId } });
    if (!isList) return (await call(id, { params: own, body })).data;
    const all: Untyped[] = [];
    for (;;) {
      const { data, meta } = await call(id, { params: {}, query: { limit: pageSize, offset: all.length } });
      all.push(...data);
      if (data.length === 0 || all.length >= meta.total) return all;
    }
  };
}
