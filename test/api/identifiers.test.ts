/** Ids of the management API are UUIDs, which callers may write in upper case: RFC 9562 asks readers to take both. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { managementOperations } from "../../src/api/operations.ts";
import { type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";

const inUpperCase = (text: string) =>
  text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => id.toUpperCase());

const reads = Object.entries(managementOperations).filter(
  ([, { method, path }]) => method === "GET" && path.includes("Id}") && !path.includes("{queryId}"),
);

let api: Api;
let own: FilledOrganization;
beforeAll(async () => {
  api = await startApi();
  own = await fillOrganization(api, "own");
});
afterAll(() => api[Symbol.asyncDispose]());

const pathOf = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => own.ids[name] as string);

test.each(reads)("%s finds the same with ids in upper case", async (_, { path }) => {
  const answers = [];
  for (const url of [pathOf(path), inUpperCase(pathOf(path))]) {
    const { status, body } = await api.call("GET", url, own.keys.admin);
    answers.push({ status, code: body?.code, id: body?.result?.id });
  }
  expect(answers[1]).toEqual(answers[0]);
});

test("a change finds its objects too, and its activity names them as they are", async () => {
  const { organizationId, serviceId, keyId } = own.ids as Record<"organizationId" | "serviceId" | "keyId", string>;
  const root = `/v1/organizations/${organizationId.toUpperCase()}`;
  const body = { name: "renamed" };
  const changed = await api.call("PATCH", `${root}/services/${serviceId.toUpperCase()}`, { ...own.keys.admin, body });
  expect([changed.status, changed.body.result?.id]).toEqual([200, serviceId]);
  const { body: listed } = await api.call("GET", `${root}/activities?limit=1`, own.keys.admin);
  expect(listed.result.activities[0]).toMatchObject({ type: "service_update", serviceId });
  const endpoint = { roles: ["sql_console_read_only"], openApiKeys: [keyId.toUpperCase()], allowedOrigins: "" };
  const path = `${root}/services/${serviceId}/serviceQueryEndpoint`;
  const set = await api.call("POST", path, { ...own.keys.admin, body: endpoint });
  expect([set.status, set.body.result?.openApiKeys]).toEqual([200, [keyId]]);
});
