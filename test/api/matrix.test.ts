/**
 * Who may not call an operation: strangers, callers of another organization, callers of a lower role. The cases are
 * made from the tables of operations, so that it holds for a new operation too.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestExamples } from "../../src/api/examples.ts";
import type { KeyRole } from "../../src/api/keys.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { type Caller, type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Answer, type Api, startApi } from "./harness.ts";
import { storedRows } from "./stored.ts";

type Ids = Readonly<Record<string, string>>;

const tables: Record<string, Record<string, Operation>> = {
  management: managementOperations,
  observability: observabilityOperations,
};
const cases = Object.entries(tables).flatMap(([name, table]) =>
  Object.entries(table).map(([id, operation]) => ({ id, operation, managed: name === "management" })),
);
const namesOf = ({ path }: Operation) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
const withIds = cases.filter(({ operation }) => namesOf(operation).length > 0);
const inOrganizations = cases.filter(({ operation }) => namesOf(operation)[0] === "organizationId");
const below = cases.filter(({ operation }) => namesOf(operation).some((name) => name !== "organizationId"));
/** Names within a service, not ids: they need not exist. */
const freeNames = new Set(["queryId", "database", "table"]);

let api: Api;
let own: FilledOrganization;
let other: FilledOrganization;

beforeAll(async () => {
  api = await startApi();
  own = await fillOrganization(api, "own");
  other = await fillOrganization(api, "other");
});
afterAll(() => api[Symbol.asyncDispose]());

function call(id: string, operation: Operation, ids: Ids, caller: Caller): Promise<Answer> {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = ids[name];
    if (value === undefined) throw new Error(`add an object for {${name}} to test/api/filled-organization.ts`);
    return value;
  });
  return api.call(operation.method, `${path}${requiredQuery[id] ?? ""}`, { ...caller, body: bodyOf(id, ids) });
}

/** Query parameters without which a request is not valid. */
const requiredQuery: Record<string, string> = {
  discardPipeErrors: "?origin=x",
  listFieldValues: "?field=Body&startTime=1714557600000&endTime=1714561199999",
};

/** The first example, with the ids of an organization. */
function bodyOf(id: string, ids: Ids): unknown {
  const [example] = requestExamples[id] ?? [];
  if (example === undefined) return undefined;
  const members: Ids = { sourceId: ids.id as string, serviceId: ids.serviceId as string };
  return JSON.parse(JSON.stringify(example.body), (name, value) => members[name] ?? value);
}

/** Makes the requests; each must have this status, and none may change anything. */
async function refused(status: number, requests: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
  const before = await storedRows(api);
  const answers = [];
  for (const request of requests) answers.push(await request());
  expect(answers.map((answer) => answer.status)).toEqual(requests.map(() => status));
  expect(await storedRows(api)).toBe(before);
  return answers;
}

test("there are operations in both tables, and every role is told apart by some", () => {
  expect(new Set(cases.map(({ operation }) => operation.access))).toEqual(new Set(["read", "developer", "admin"]));
  expect(inOrganizations.length).toBeGreaterThan(60);
  expect(below.length).toBeGreaterThan(40);
});

describe("strangers get 401", () => {
  test.each(cases)("$id", async ({ id, operation, managed }) => {
    const wrongKind = managed ? own.token : own.keys.admin;
    const ended = { ...own.sessions.admin.headers, cookie: "millrace_session_8150=ended" };
    const callers = [{ auth: null }, { auth: null, headers: ended }, wrongKind, { auth: "Basic eDp5" }];
    await refused(
      401,
      callers.map((caller) => () => call(id, operation, own.ids, caller)),
    );
  });
});

describe("a lower role gets 403, with its key and with a session", () => {
  const roles: readonly KeyRole[] = ["read_only", "developer", "admin"];
  const lowerRoles = { read: [], developer: roles.slice(0, 1), admin: roles.slice(0, 2) };
  const restricted = cases.filter(({ operation }) => operation.access !== "read");
  test.each(restricted)("$id", async ({ id, operation, managed }) => {
    const lower = lowerRoles[operation.access];
    const callers = lower.flatMap((role) => (managed ? [own.keys[role], own.sessions[role]] : [own.sessions[role]]));
    await refused(
      403,
      callers.map((caller) => () => call(id, operation, own.ids, caller)),
    );
  });
});

describe("an admin of another organization gets 404, as for an organization that does not exist", () => {
  const nowhere = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  test.each(inOrganizations)("$id", async ({ id, operation }) => {
    const missing = { ...own.ids, organizationId: nowhere };
    for (const caller of [other.keys.admin, other.sessions.admin, other.keys.read_only]) {
      const answers = await refused(
        404,
        [own.ids, missing].map((ids) => () => call(id, operation, ids, caller)),
      );
      const [real, none] = answers.map(({ body }) => body.error);
      expect(real.replace(own.ids.organizationId, nowhere)).toBe(none);
    }
  });
});

describe("an object of another organization is not found below the caller's own", () => {
  test.each(below)("$id", async ({ id, operation, managed }) => {
    const names = namesOf(operation).filter((name) => name !== "organizationId");
    const callers = managed ? [other.keys.admin, other.sessions.admin] : [other.token, other.sessions.admin];
    for (let first = 0; first < names.length; first += 1) {
      // The caller's own objects lead to this one.
      const foreign = Object.fromEntries(names.slice(first).map((name) => [name, own.ids[name] as string]));
      const ids = { ...other.ids, ...foreign };
      await refused(
        404,
        callers.map((caller) => () => call(id, operation, ids, caller)),
      );
    }
  });
});

describe("nothing of another organization is in a response", () => {
  const lists = cases.filter(({ operation }) => operation.method === "GET");
  test.each(lists)("$id", async ({ id, operation, managed }) => {
    const { text } = await call(id, operation, other.ids, managed ? other.keys.admin : other.token);
    for (const [name, value] of Object.entries(own.ids)) {
      // Activities are numbered, and a number occurs everywhere.
      if (name !== "activityId") expect(text).not.toContain(value);
    }
  });
});

// Last, since it changes and deletes.
describe("the same requests of the owner's admin are not refused: what they name exists", () => {
  const rank = ({ id, operation: { method, path } }: (typeof cases)[number]) => {
    // An alert goes with its saved search.
    if (id === "deleteAlert") return 1;
    return method === "DELETE" ? 1_000 - path.length : method === "GET" ? -1 : 0;
  };
  const owned = withIds
    .filter(({ operation }) => !namesOf(operation).some((name) => freeNames.has(name)))
    .sort((a, b) => rank(a) - rank(b));
  test.each(owned)("$id", async ({ id, operation, managed }) => {
    const { status, body } = await call(id, operation, own.ids, managed ? own.keys.admin : own.sessions.admin);
    expect([401, 403, 404], body?.error).not.toContain(status);
  });
});
