/** Dashboards (observability API), in the form of the HyperDX API. They are kept whole; the server draws none. */
import { z } from "zod";
import { metricTableNames } from "./chart-source-members.ts";
import { tile } from "./dashboard-tiles.ts";
import { knownObject, operation, plainText, setByServer, shownName, timestamp, uuid, version } from "./operation.ts";
import { offsetMeta, offsetQuery, sourceId, tags, whereLanguage } from "./saved-searches.ts";

const text = z.string().max(10_000);
const id = z.string().min(1).max(256);

/** Other kinds of filter are kept with all that they have. */
const otherFilter = <Type extends string>(type: Type) =>
  z.looseObject({
    ...{ id: id.optional(), type: z.literal(type), name: z.string().min(1).max(1024), sourceId: sourceId.optional() },
  });

const filter = z.discriminatedUnion("type", [
  knownObject({
    id: id.optional(),
    type: z.literal("QUERY_EXPRESSION"),
    name: z.string().min(1).max(1024),
    expression: text.min(1),
    sourceId,
    sourceMetricType: z.enum(metricTableNames).optional(),
    where: text.optional(),
    whereLanguage: whereLanguage.optional(),
    appliesToSourceIds: z.array(sourceId).max(1000).optional(),
  }),
  otherFilter("STATIC_LIST"),
  otherFilter("PROMQL_LABEL"),
]);

const container = knownObject({
  id,
  title: id,
  collapsed: z.boolean(),
  collapsible: z.boolean().optional(),
  bordered: z.boolean().optional(),
  tabs: z
    .array(knownObject({ id, title: id }))
    .max(20)
    .optional(),
});

const members = {
  name: shownName(1024),
  tiles: z.array(tile).max(500),
  tags: tags.default([]),
  filters: z.array(filter).max(100).default([]),
  savedQuery: text.nullish(),
  savedQueryLanguage: whereLanguage.nullish(),
  savedFilterValues: z
    .array(z.looseObject({ type: z.string().max(50).optional(), condition: text.optional() }))
    .max(1000)
    .optional(),
  containers: z.array(container).max(50).optional(),
};

function repeated(ids: readonly (string | undefined)[]): string | undefined {
  return ids.find((one, i) => one !== undefined && ids.indexOf(one) !== i);
}

export const dashboardBody = knownObject({ ...members, ...setByServer })
  .superRefine(({ tiles, containers = [] }, context) => {
    const fail = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
    const twice = repeated(tiles.map((one) => one.id));
    if (twice !== undefined) fail(["tiles"], `the id ${twice} occurs twice; leave it out to get a new one`);
    const sameContainer = repeated(containers.map((one) => one.id));
    if (sameContainer !== undefined) fail(["containers"], `the id ${sameContainer} occurs twice`);
    for (const [index, { containerId, tabId }] of tiles.entries()) {
      if (containerId === undefined) continue;
      const found = containers.find((one) => one.id === containerId);
      if (found === undefined) fail(["tiles", index, "containerId"], "names no container of the dashboard");
      else if (tabId !== undefined && !found.tabs?.some((tab) => tab.id === tabId)) {
        fail(["tiles", index, "tabId"], "names no tab of the container");
      }
    }
  })
  .meta({ id: "DashboardRequest" });

const record = z
  .looseObject({ id: uuid, ...members, version, createdAt: timestamp, updatedAt: timestamp })
  .meta({ id: "Dashboard" });

export type DashboardBody = z.output<typeof dashboardBody>;
export type DashboardRecord = z.output<typeof record>;

const root = "/api/v2/dashboards";
const one = { path: `${root}/{dashboardId}`, params: z.object({ dashboardId: plainText(1, 100) }) };
const tag = "Dashboards";
const data = z.object({ data: record });

export const dashboardOperations = {
  listDashboards: operation({
    ...{ method: "GET", storedOnly: true, path: root, tag, access: "read" },
    summary: "Lists dashboards, oldest first",
    query: z.object(offsetQuery),
    result: z.object({ data: z.array(record), meta: offsetMeta }),
  }),
  createDashboard: operation({
    ...{ method: "POST", path: root, tag, access: "developer" },
    summary: "Creates a dashboard",
    body: dashboardBody,
    result: data,
  }),
  validateDashboard: operation({
    ...{ method: "POST", readsOnly: true, path: `${root}/validate`, tag, access: "read" },
    summary: "Checks a dashboard without saving it",
    body: z.record(z.string(), z.unknown()).describe("As for createDashboard; it may be wrong"),
    result: z.object({
      valid: z.boolean(),
      errors: z.array(z.object({ path: z.string(), message: z.string() })),
      normalized: z.record(z.string(), z.unknown()).nullable().describe("What would be saved; null if it is not valid"),
    }),
  }),
  getDashboard: operation({
    ...{ method: "GET", storedOnly: true, ...one, tag, access: "read", summary: "Gets a dashboard" },
    result: data,
  }),
  replaceDashboard: operation({
    ...{ method: "PUT", versioned: true, ...one, tag, access: "developer", summary: "Replaces a dashboard" },
    body: dashboardBody,
    result: data,
  }),
  deleteDashboard: operation({
    ...{ method: "DELETE", versioned: true, ...one, tag, access: "developer" },
    summary: "Deletes a dashboard and the alerts of its tiles",
    result: z.object({}),
  }),
};
