/** Saved searches and dashboards of the observability API. */
import { randomUUID } from "node:crypto";
import {
  type DashboardBody,
  type DashboardRecord,
  dashboardBody,
  type dashboardOperations,
} from "../../api/dashboards.ts";
import { setByServer } from "../../api/known-members.ts";
import type { Handlers, ObservabilityOperations } from "../../api/operations.ts";
import type { SavedSearchBody, SavedSearchRecord, savedSearchOperations } from "../../api/saved-searches.ts";
import { AppError, type Issue } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ChartSourceStore } from "../../store/chart-sources.ts";
import type { CredentialStore } from "../../store/credentials.ts";
import type { OrganizationLimits } from "../../store/limits.ts";
import type { SavedDocument, SavedDocumentStore } from "../../store/saved-documents.ts";
import type { ServiceStore } from "../../store/services.ts";
import type { Context } from "../context.ts";
import { issuesOf, validate } from "../validate.ts";

export type SavedDocumentDeps = {
  readonly savedSearches: SavedDocumentStore;
  readonly dashboards: SavedDocumentStore;
  readonly sources: Pick<ChartSourceStore, "find">;
  readonly services: Pick<ServiceStore, "findIn">;
  readonly credentials: Pick<CredentialStore, "findKey">;
  readonly limits: OrganizationLimits;
};

type Names = keyof typeof savedSearchOperations | keyof typeof dashboardOperations;

export function savedDocumentHandlers(
  deps: SavedDocumentDeps,
): Pick<Handlers<ObservabilityOperations, Context>, Names> {
  const searches = documents<SavedSearchRecord>(deps, deps.savedSearches, "Saved search");
  const dashboards = documents<DashboardRecord>(deps, deps.dashboards, "Dashboard");
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

type Page = { readonly limit: number; readonly offset: number };

/** What both kinds have in common. */
function documents<T>({ credentials, limits }: SavedDocumentDeps, store: SavedDocumentStore, noun: string) {
  const recordOf = ({ content, ...facts }: SavedDocument) => ({ ...content, ...facts }) as T;
  const found = (document: SavedDocument | undefined) => {
    if (document === undefined) throw new AppError("NOT_FOUND", `${noun} not found`);
    return { data: recordOf(document) };
  };
  const author = async ({ organizationId, credentialId }: Context) =>
    (await credentials.findKey(organizationId, credentialId))?.name ?? "";
  return {
    list: async ({ limit, offset }: Page, { organizationId }: Context) => ({
      data: (await store.list(organizationId, { limit, offset })).map(recordOf),
      meta: { total: await store.count(organizationId), limit, offset },
    }),
    create: async (content: JsonObject, context: Context) =>
      found(await store.create(context.organizationId, content, await author(context), limits.savedObjects)),
    get: async (id: string, { organizationId }: Context) => found(await store.find(organizationId, id)),
    replace: async (id: string, content: () => Promise<JsonObject>, context: Context) => {
      const { organizationId, expected } = context;
      found(await store.find(organizationId, id));
      return found(await store.replace(organizationId, id, await content(), await author(context), expected));
    },
    delete: async (id: string, { organizationId, expected }: Context) => {
      if (!(await store.delete(organizationId, id, expected))) throw new AppError("NOT_FOUND", `${noun} not found`);
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
function referenceCheck({ sources, services }: SavedDocumentDeps, organizationId: string) {
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
  const [first] = issues;
  if (first !== undefined) throw new AppError("BAD_REQUEST", `${first.path}: ${first.message}.`, { issues });
}
