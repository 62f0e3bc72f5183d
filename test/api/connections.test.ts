/** Connections of the observability API: every service is one, and nothing else. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./harness.ts";

let api: Api;
let auth: string;
let serviceId: string;

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  auth = `Bearer ${body.result.accessToken}`;
  const made = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "analytics" } });
  serviceId = made.body.result.service.id;
});
afterAll(() => api[Symbol.asyncDispose]());

test("every service is a connection with its id and endpoint, and without a password", async () => {
  const { body } = await api.call("GET", "/api/v2/connections", { auth });
  expect(body.data).toEqual([
    {
      ...{ id: serviceId, name: "analytics", username: "default", createdAt: expect.any(String) },
      host: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    },
  ]);
  expect((await api.call("GET", `/api/v2/connections/${serviceId}`, { auth })).body.data).toEqual(body.data[0]);
  expect((await api.call("GET", "/api/v2/connections/another", { auth })).status).toBe(404);
});

test("the id of a connection is that of a source", async () => {
  const from = { databaseName: "default", tableName: "logs" };
  const source = { name: "logs", kind: "log", connection: serviceId, from, timestampValueExpression: "t" };
  const { body } = await api.call("POST", "/api/v2/sources", { auth, body: source });
  expect(body.data).toMatchObject({ connection: serviceId, serviceId });
});

test.each([
  ["POST", "/api/v2/connections", "created"],
  ["PUT", "/api/v2/connections/{s}", "changed"],
  ["DELETE", "/api/v2/connections/{s}", "deleted"],
])("%s is refused in one sentence", async (method, path, verb) => {
  const body = method === "DELETE" ? undefined : { name: "local", host: "http://localhost:8123", password: "x" };
  const answer = await api.call(method, path.replace("{s}", serviceId), { auth, ...(body && { body }) });
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ code: "NOT_SUPPORTED", message: expect.stringContaining(`cannot be ${verb}`) });
});
