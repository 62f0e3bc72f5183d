/**
 * Bodies and queries that name objects of another organization: the answer is that for an object that does not exist,
 * and nothing is changed. The places are found in the schemas: a new one fails here until it is told what it names.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestExamples } from "../../src/api/examples.ts";
import { openApiDocument } from "../../src/api/openapi.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Caller, type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";
import { storedRows } from "./stored.ts";

type Ids = Readonly<Record<string, string>>;

/** Members that name an object, and which one of `FilledOrganization.ids` that is. */
const objects: Ids = {
  ...{ backupId: "backupId", serviceId: "serviceId", targetServiceId: "serviceId", connectionId: "serviceId" },
  ...{ sourceId: "id", appliesToSourceIds: "id", openApiKeys: "keyId" },
  ...{ logSourceId: "id", traceSourceId: "id", metricSourceId: "id", sessionSourceId: "id" },
  ...{ pipeId: "pipeId", webhookId: "webhookId", savedSearchId: "savedSearchId", dashboardId: "dashboardId" },
  // Parameters of queries.
  ...{ object: "pipeId", service: "serviceId" },
};
/** Names within the object itself, of a source, or chosen by the caller. */
const others = [
  ...["id", "tileId", "containerId", "tabId", "teamId", "rowIds", "queryId", "runId", "accessKeyId"],
  ...["sortingKeys", "columnIds", "versionColumnId", "reversePrivateEndpointIds"],
];

const document = openApiDocument({
  ...{ management: managementOperations, observability: observabilityOperations, version: "0" },
}) as unknown as { paths: Record<string, Record<string, JsonObject>>; components: { schemas: JsonObject } };
const operations: Record<string, Operation> = { ...managementOperations, ...observabilityOperations };

type Place = { readonly id: string; readonly path: string; readonly name: string };

/** Members of a schema whose names are those of references. */
function placesIn(schema: JsonObject | undefined, path: readonly string[] = []): string[][] {
  if (schema === undefined || path.length > 8) return [];
  const named = /\/(\w+)$/.exec(String(schema.$ref ?? ""))?.[1];
  if (named !== undefined) return placesIn(document.components.schemas[named] as JsonObject, path);
  const parts = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (list ?? []) as JsonObject[]);
  const below = parts.flatMap((part) => placesIn(part, path));
  if (schema.items) below.push(...placesIn(schema.items as JsonObject, [...path, "0"]));
  for (const [name, member] of Object.entries((schema.properties ?? {}) as Record<string, JsonObject>)) {
    if (/(Id|Ids|Keys)$|^id$/.test(name)) below.push([...path, name]);
    below.push(...placesIn(member, [...path, name]));
  }
  return below;
}

const found: Place[] = Object.entries(operations).flatMap(([id, { method, path }]) => {
  const body = document.paths[path]?.[method.toLowerCase()]?.requestBody as { content?: Record<string, JsonObject> };
  const schema = body?.content?.["application/json"]?.schema as JsonObject | undefined;
  const places = placesIn(schema).map((parts) => ({ id, path: parts.join("."), name: parts.at(-1) as string }));
  return [...new Map(places.map((place) => [place.path, place])).values()];
});
/** In parts of a body that have no schema. */
const loose: Place[] = ["createDashboard", "replaceDashboard", "validateDashboard"].flatMap((id) =>
  ["sourceId", "connectionId"].map((name) => ({ id, path: `tiles.0.config.${name}`, name })),
);

/** Bodies that are valid with a reference at the path, where the first example is not. */
const tileAlert = (requestExamples.createAlert?.[1]?.body ?? {}) as JsonObject;
const tile = { name: "t", x: 0, y: 0, w: 1, h: 1 };
const series = { type: "time", aggFn: "count", where: "", groupBy: [] };
const filter = { type: "QUERY_EXPRESSION", name: "f", expression: "a", sourceId: "" };
const { channel, ...alertWithoutChannel } = (requestExamples.createAlert?.[0]?.body ?? {}) as {
  channel: object;
};
const stateAlert = (requestExamples.createAlert?.[2]?.body ?? {}) as JsonObject;
const listedAlert = { ...alertWithoutChannel, channels: [channel] };
const wider: Readonly<Record<string, object>> = {
  "tiles.0.series.0.sourceId": { name: "d", tiles: [{ ...tile, series: [series] }] },
  "tiles.0.config.connectionId": {
    name: "d",
    tiles: [{ ...tile, config: { configType: "sql", displayType: "table", sqlTemplate: "SELECT 1" } }],
  },
  "filters.0.sourceId": { name: "d", tiles: [], filters: [filter] },
  "filters.0.appliesToSourceIds": { name: "d", tiles: [], filters: [filter] },
  "channels.0.webhookId": listedAlert,
  dashboardId: tileAlert,
  backupId: { name: "copy" },
  pipeId: { name: "key", roles: ["push"] },
  ...Object.fromEntries(
    ["createAlert", "replaceAlert"].flatMap((id) =>
      ["serviceId", "pipeId"].map((name) => [`${id} ${name}`, stateAlert]),
    ),
  ),
};
/** The reference stands in place of what the example has. */
const bodies: Readonly<Record<string, object>> = { planServiceMove: {}, moveService: {} };

let api: Api;
let own: FilledOrganization;
let other: FilledOrganization;
beforeAll(async () => {
  api = await startApi();
  own = await fillOrganization(api, "own");
  other = await fillOrganization(api, "other");
});
afterAll(() => api[Symbol.asyncDispose]());

/** The body with `value` at the path; every other reference is one of the caller's own objects. */
function bodyWith({ id, path, name }: Place, value: string): unknown {
  const base = wider[`${id} ${path}`] ?? wider[path] ?? bodies[id] ?? requestExamples[id]?.[0]?.body ?? {};
  const body = JSON.parse(JSON.stringify(base), (member, given) =>
    typeof given === "string" && objects[member] !== undefined ? own.ids[objects[member]] : given,
  );
  const parts = path.split(".");
  let holder = body;
  for (const part of parts.slice(0, -1)) holder = holder[part] ??= {};
  holder[name] = name.endsWith("s") ? [value] : value;
  return body;
}

const nowhere = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/** Sends the request for the object of another organization and for none. */
async function compare(
  id: string,
  request: (value: string) => Promise<{ status: number; text: string }>,
  value: string,
) {
  const before = await storedRows(api);
  const [foreign, missing] = [await request(value), await request(nowhere)];
  const said = ({ status, text }: { status: number; text: string }, name: string) =>
    status >= 400 ? [status, text.replaceAll(name, "ID").replace(/"requestId":"[^"]*"/, "")] : [status];
  expect(said(foreign, value), id).toEqual(said(missing, nowhere));
  if (foreign.status >= 400) expect(await storedRows(api)).toBe(before);
  return foreign;
}

function send(id: string, place: Place, value: string) {
  const operation = operations[id] as Operation;
  const caller: Caller = operation.path.startsWith("/api/") ? own.token : own.keys.admin;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => own.ids[name] as string);
  return api.call(operation.method, path, { ...caller, body: bodyWith(place, value) });
}

test("every member that looks like a reference is known", () => {
  const names = new Set(found.map(({ name }) => name));
  expect([...names].filter((name) => objects[name] === undefined && !others.includes(name))).toEqual([]);
  expect(found.filter(({ name }) => objects[name] !== undefined).length).toBeGreaterThan(25);
});

const places = [...found, ...loose].filter(({ name }) => objects[name] !== undefined);

describe("a body", () => {
  test.each(places.map((place) => [`${place.id} ${place.path}`, place] as const))("%s", async (title, place) => {
    const foreign = other.ids[objects[place.name] as string] as string;
    const answer = await compare(title, (value) => send(place.id, place, value), foreign);
    // It is the reference that is looked at, and no mistake in the form of the body.
    expect(answer.text).not.toMatch(/is required|known field|must be a list|must contain either/);
  });
});

describe("a query", () => {
  const queries = Object.entries(operations).flatMap(([id, { query }]) =>
    Object.keys(query?.shape ?? {})
      .filter((name) => objects[name] !== undefined)
      .map((name) => [`${id} ${name}`, id, name] as const),
  );
  test.each(queries)("%s", async (title, id, name) => {
    const { path: template, method } = operations[id] as Operation;
    const path = template.replaceAll(/\{(\w+)\}/g, (_, param: string) => own.ids[param] as string);
    const caller = path.startsWith("/api/") ? own.token : own.keys.admin;
    const request = (value: string) => api.call(method, `${path}?${name}=${value}`, caller);
    const answer = await compare(title, request, other.ids[objects[name] as string] as string);
    if (answer.status < 400) expect(answer.text).not.toMatch(/of other/);
  });
});
