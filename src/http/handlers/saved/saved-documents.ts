/** Saved searches and dashboards of the observability API. */

import { randomUUID } from "node:crypto";
import {
  type DashboardBody,
  type DashboardRecord,
  dashboardBody,
  type dashboardOperations,
} from "../../../api/dashboards.ts";
import { setByServer } from "../../../api/operation.ts";
import type { SavedSearchBody, SavedSearchRecord, savedSearchOperations } from "../../../api/saved-searches.ts";
import { type Issue, refuseIssues } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { ListPart } from "../../../store/database/records.ts";
import type { Stores } from "../../../store/open.ts";
import type { SavedObject, SavedObjectKind, SavedObjectStore } from "../../../store/saved/saved-objects.ts";
import type { Context } from "../../caller/context.ts";
import { issuesOf, validate } from "../../request/validate.ts";
import { foundObject, type Observability } from "../lookups.ts";
import { authorOf, readerOf } from "./saved-objects.ts";

export type SavedDocumentDeps = Pick<
  Stores,
  "savedSearches" | "dashboards" | "chartSources" | "services" | "credentials"
> & { readonly limits: OrganizationLimits };

type Names = keyof typeof savedSearchOperations | keyof typeof dashboardOperations;

export function savedDocumentHandlers(deps: SavedDocumentDeps): Observability<Names> {
  const searches = documents<SavedSearchRecord, "savedSearch">(deps, deps.savedSearches, "savedSearch", "Saved search");
  const dashboards = documents<DashboardRecord, "tiledDashboard">(deps, deps.dashboards, "tiledDashboard", "Dashboard");
  const search = async (body: SavedSearchBody, { organizationId }: Context) => {
    await requireNone(searchReferences(body), referenceCheck(deps, organizationId));
    return contentOf(body);
  };
  const dashboard = async (body: DashboardBody, { organizationId }: Context) => {
    await requireNone(dashboardReferences(body), referenceCheck(deps, organizationId));
    return contentOf(withIds(body));
  };
  return {
    listSavedSearches: ({ query }, context) => searches.list(query, context),
    createSavedSearch: async ({ body }, context) => await searches.create(await search(body, context), context),
    getSavedSearch: ({ params }, context) => searches.get(params.savedSearchId, context),
    replaceSavedSearch: async ({ params: { savedSearchId: id }, body }, context) =>
      await searches.replace(id, () => search(body, context), context),
    deleteSavedSearch: ({ params }, context) => searches.delete(params.savedSearchId, context),
    listDashboards: ({ query }, context) => dashboards.list(query, context),
    createDashboard: async ({ body }, context) => await dashboards.create(await dashboard(body, context), context),
    validateDashboard: async ({ body }, context) => {
      try {
        const parsed = validate(dashboardBody, body, "body") as DashboardBody;
        return { valid: true, errors: [], normalized: await dashboard(parsed, context) };
      } catch (error) {
        return { valid: false, errors: issuesOf(error), normalized: null };
      }
    },
    getDashboard: ({ params }, context) => dashboards.get(params.dashboardId, context),
    replaceDashboard: async ({ params: { dashboardId: id }, body }, context) =>
      await dashboards.replace(id, () => dashboard(body, context), context),
    deleteDashboard: ({ params }, context) => dashboards.delete(params.dashboardId, context),
  };
}

/** What both kinds have in common: a saved object, whose content is shown beside what the store knows of it. */
function documents<T, Kind extends SavedObjectKind>(
  deps: SavedDocumentDeps,
  store: SavedObjectStore<Kind>,
  kind: Kind,
  noun: string,
) {
  const recordOf = ({ content, id, name, version, createdAt, updatedAt }: SavedObject) =>
    ({ ...content, id, name, version, createdAt, updatedAt }) as T;
  const found = (document: SavedObject | undefined) => ({ data: recordOf(foundObject(document, noun)) });
  const get = async (id: string, context: Context) => found(await store.find(readerOf(context), id));
  const wanted = (content: JsonObject) => ({ kind, name: String(content.name), content });
  return {
    get,
    list: async ({ limit, offset }: ListPart, context: Context) => ({
      data: (await store.list(readerOf(context), { limit, offset })).map(recordOf),
      meta: { total: await store.count(readerOf(context)), limit, offset },
    }),
    create: async (content: JsonObject, context: Context) => {
      const by = await authorOf(deps, context);
      return found(await store.create(readerOf(context), wanted(content), by, deps.limits.savedObjects));
    },
    replace: async (id: string, content: () => Promise<JsonObject>, context: Context) => {
      await get(id, context);
      const change = wanted(await content());
      await store.change(readerOf(context), id, change, await authorOf(deps, context), context.expected);
      return await get(id, context);
    },
    delete: async (id: string, context: Context) => {
      if (!(await store.delete(readerOf(context), id, context.expected))) found(undefined);
      return {};
    },
  };
}

function contentOf(body: object): JsonObject {
  const kept = Object.entries(body).filter(([name, value]) => value !== undefined && !Object.hasOwn(setByServer, name));
  return Object.fromEntries(kept) as JsonObject;
}

/** Tiles and filters without an id get one. */
function withIds(body: DashboardBody): DashboardBody {
  const identified = <T extends { readonly id?: string | undefined }>(one: T) => ({
    ...one,
    id: one.id ?? randomUUID(),
  });
  return { ...body, tiles: body.tiles.map(identified), filters: body.filters.map(identified) };
}

/** A member that names another object. */
type Reference = { readonly path: string; readonly id: string; readonly kind: "source" | "connection" };

function searchReferences({ sourceId: id }: SavedSearchBody): Reference[] {
  return [{ path: "sourceId", id, kind: "source" }];
}

function dashboardReferences({ tiles, filters }: DashboardBody): Reference[] {
  const source = (path: string, id: unknown): Reference[] =>
    typeof id === "string" ? [{ path, id, kind: "source" }] : [];
  const ofTiles = tiles.flatMap(({ config, series = [] }, i): Reference[] => {
    const connection = config?.connectionId;
    return [
      ...source(`tiles.${i}.config.sourceId`, config?.sourceId),
      ...(typeof connection === "string"
        ? [{ path: `tiles.${i}.config.connectionId`, id: connection, kind: "connection" as const }]
        : []),
      ...series.flatMap((one, j) => source(`tiles.${i}.series.${j}.sourceId`, (one as JsonObject).sourceId)),
    ];
  });
  return [...ofTiles, ...filters.flatMap(({ sourceId }, i) => source(`filters.${i}.sourceId`, sourceId))];
}

/** Tells whether what is referred to exists in the organization; each object is looked up once. */
function referenceCheck({ chartSources: sources, services }: SavedDocumentDeps, organizationId: string) {
  const known = new Map<string, Promise<boolean>>();
  const look = async ({ kind, id }: Reference) =>
    (await (kind === "source" ? sources.find(organizationId, id) : services.findIn(organizationId, id))) !== undefined;
  return (reference: Reference) => {
    const key = `${reference.kind} ${reference.id}`;
    const answer = known.get(key) ?? look(reference);
    known.set(key, answer);
    return answer;
  };
}

async function requireNone(references: readonly Reference[], exists: (one: Reference) => Promise<boolean>) {
  const issues: Issue[] = [];
  for (const one of references) {
    if (!(await exists(one))) issues.push({ path: one.path, message: `there is no ${one.kind} ${one.id}` });
  }
  refuseIssues(issues);
}
