/**
 * Webhooks, saved searches, dashboards and alerts as documents. They belong to no service, are replaced as a whole, and
 * name other objects: by ids at the server, by names in files.
 */
import type { CliClient, OperationResult } from "../client/client.ts";
import { type CurrentObject, hasTwin, type ObjectDocument, type ObjectKind, type WantedObject } from "./files.ts";

type Spec = Readonly<Record<string, unknown>>;
/** An object that exists, without what it is; `fileId` is the id that its file gives it. */
export type Known = Omit<ObjectDocument, "spec"> & { readonly id: string; readonly fileId?: string | undefined };

/** In the order in which they depend on one another. */
const operations = {
  Webhook: { list: "listWebhooks", create: "createWebhook", replace: "replaceWebhook", id: "webhookId" },
  SavedSearch: {
    list: "listSavedSearches",
    create: "createSavedSearch",
    replace: "replaceSavedSearch",
    id: "savedSearchId",
  },
  Dashboard: { list: "listDashboards", create: "createDashboard", replace: "replaceDashboard", id: "dashboardId" },
  Alert: { list: "listAlerts", create: "createAlert", replace: "replaceAlert", id: "alertId" },
} as const;

type SavedKind = keyof typeof operations;
export const savedKinds = Object.keys(operations) as SavedKind[];

export function isSaved(kind: ObjectKind): kind is SavedKind {
  return Object.hasOwn(operations, kind);
}

/** Members of records that nobody wishes for. */
const observed = new Set([
  ...["id", "name", "version", "createdAt", "updatedAt", "teamId", "channels", "state", "stateMessage"],
  ...["stateChangedAt", "evaluatedUntil", "silenced", "executionErrors"],
]);

type Page = { readonly data: readonly (Spec & { id: string; name?: string })[]; readonly meta: { total: number } };

/** All objects of a kind, with the ids of other objects. An alert without a name goes by its id. */
export async function readSaved(client: CliClient, kind: SavedKind): Promise<CurrentObject[]> {
  const found: CurrentObject[] = [];
  for (;;) {
    const query = { offset: found.length };
    const { data, meta } = (await client.call(operations[kind].list, { query })) as unknown as Page;
    for (const record of data) {
      const { id, name = id } = record;
      const spec = Object.fromEntries(Object.entries(record).filter(([member]) => !observed.has(member)));
      found.push({ kind, name, service: undefined, id, serviceId: undefined, spec });
    }
    if (data.length === 0 || found.length >= meta.total) return found;
  }
}

/** Creates the object and returns its id. */
export async function createSaved(
  client: CliClient,
  kind: SavedKind,
  { name, spec }: WantedObject,
  known: readonly Known[],
): Promise<string> {
  const body = { ...withIds(spec, known), name };
  const { data } = (await client.call(operations[kind].create, {
    body: body as never,
  })) as OperationResult<"createAlert">;
  return data.id;
}

/** Replaces the object by what the file says and, where it says nothing, by what it was. */
export async function changeSaved(
  client: CliClient,
  kind: SavedKind,
  { name, spec }: WantedObject,
  current: CurrentObject,
  known: readonly Known[],
): Promise<void> {
  const body = { ...withIds({ ...current.spec, ...spec }, known), name };
  const { replace, id } = operations[kind];
  await client.call(replace, { params: { [id]: current.id } as never, body: body as never });
}

/** What members of these names refer to. */
const referred: Readonly<Record<string, ObjectKind>> = {
  ...{
    serviceId: "Service",
    connectionId: "Service",
    pipeId: "Pipe",
    sourceId: "Source",
    appliesToSourceIds: "Source",
  },
  ...{ webhookId: "Webhook", savedSearchId: "SavedSearch", dashboardId: "Dashboard" },
};

/** `analytics/clicks` for a pipe or source, the name for anything else. */
const referenceTo = ({ service, name }: Pick<Known, "service" | "name">) =>
  service === undefined ? name : `${service}/${name}`;

/** With names in place of ids. An id stays where several objects have the name. */
export function withNames(spec: Spec, known: readonly Known[]): Spec {
  return mapReferences(spec, (kind, id) => {
    const found = known.find((one) => one.kind === kind && one.id === id);
    return found === undefined || hasTwin(found, known) ? id : referenceTo(found);
  }) as Spec;
}

/** With ids in place of names. What is not known is an id of the server, see `lostReference`. */
function withIds(spec: Spec, known: readonly Known[]): Spec {
  const idOf = (kind: ObjectKind, name: string) =>
    known.find((one) => one.kind === kind && [referenceTo(one), one.fileId].includes(name))?.id ?? name;
  return mapReferences(spec, idOf) as Spec;
}

type Reference = { readonly kind: ObjectKind; readonly name: string; readonly path: string };

/** The first name of an object that neither exists nor is made. Ids are for the server to judge. */
export function lostReference(
  spec: Spec,
  known: readonly (Omit<Known, "id"> & { readonly id: string | undefined })[],
): Reference | undefined {
  const isId = (name: string) => /^[0-9a-f-]{24,36}$/.test(name);
  let lost: Reference | undefined;
  mapReferences(spec, (kind, name, path) => {
    const isKnown = known.some((one) => one.kind === kind && [referenceTo(one), one.id].includes(name));
    if (name !== "" && !isKnown && !isId(name)) lost ??= { kind, name, path: path.join(".") };
    return name;
  });
  return lost;
}

function mapReferences(
  value: unknown,
  change: (kind: ObjectKind, reference: string, path: readonly string[]) => string,
  path: readonly string[] = [],
  kind?: ObjectKind,
): unknown {
  if (typeof value === "string") return kind === undefined ? value : change(kind, value, path);
  if (Array.isArray(value)) return value.map((one, at) => mapReferences(one, change, [...path, String(at)], kind));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([name, member]) => [name, mapReferences(member, change, [...path, name], referred[name])]),
  );
}
