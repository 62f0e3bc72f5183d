/**
 * Bodies that are made to hurt, at every operation that has one: they are refused in the form of the API, with the
 * member that is wrong, and change nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestExamples } from "../../src/api/examples.ts";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { type FilledOrganization, fillOrganization } from "./filled-organization.ts";
import { type Api, startApi } from "./harness.ts";
import { storedRows } from "./stored.ts";

const operations: Record<string, Operation> = { ...managementOperations, ...observabilityOperations };
const withBody = Object.entries(operations).filter(([, { body }]) => body !== undefined);

let api: Api;
let own: FilledOrganization;
beforeAll(async () => {
  api = await startApi({ rateLimit: 1_000_000 });
  own = await fillOrganization(api, "own");
});
afterAll(() => api[Symbol.asyncDispose]());

function send({ path: template, method }: Operation, body: string) {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => own.ids[name] as string);
  const caller = template.startsWith("/api/") ? own.token : own.keys.admin;
  return api.call(method, path, { ...caller, body });
}

type Path = readonly (string | number)[];

/** Every member with text, at most one item of each list. */
function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === "string") return [path];
  if (typeof value !== "object" || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()].slice(0, 1) : Object.entries(value);
  return entries.flatMap(([name, member]) => textsIn(member, [...path, name]));
}

function replaced(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[name] = replaced(copy[name], rest, by);
  return copy;
}

const examples = withBody.map(
  ([id, operation]) => [id, operation, (requestExamples[id] ?? []).map(({ body }) => body)] as const,
);

describe("text that no store can keep is refused by its member", () => {
  test.each(examples)("%s", async (_id, operation, bodies) => {
    const before = await storedRows(api);
    for (const body of bodies) {
      for (const path of textsIn(body)) {
        for (const text of ["a\0b", "a\ud800b"]) {
          const answer = await send(operation, JSON.stringify(replaced(body, path, text)));
          expect(answer.status, answer.text).toBe(400);
          expect(answer.body.issues).toEqual([
            { path: path.join("."), message: expect.stringMatching(/^must not contain/) },
          ]);
        }
      }
    }
    expect(await storedRows(api)).toBe(before);
  });
});

const many = (item: string, count: number) => `[${`${item},`.repeat(count)}${item}]`;
const keys = `{${Array.from({ length: 29_000 }, (_, i) => `"k${i}":1`).join(",")}}`;
const hostile: readonly (readonly [string, string])[] = [
  ["many members", keys],
  ["a list of objects", many("{}", 29_000)],
  ["more values than a body may have", many("0", 100_000)],
  ["deep nesting", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
  ["members of the prototype", '{"__proto__":{"name":"x"},"constructor":{"prototype":{"admin":true}}}'],
  ["a number that is none", "-1e999"],
  ["null", "null"],
];

describe("a body of the wrong kind is refused briefly", () => {
  test.each(examples)("%s", async (_id, operation, [first]) => {
    const before = await storedRows(api);
    const isObject = typeof first === "object" && first !== null;
    // The whole body, and each of its members.
    const around = ["@", ...(isObject ? Object.keys(first).map((name) => ({ ...first, [name]: "@" })) : [])];
    let accepted = 0;
    for (const [title, text] of hostile) {
      for (const body of around) {
        const answer = await send(
          operation,
          JSON.stringify(body).replace('"@"', () => text),
        );
        // 503: the operation needs an engine, and its body is right.
        const expected = answer.status === 503 || (answer.status >= 200 && answer.status < 500);
        expect(expected, `${title}: ${answer.text.slice(0, 300)}`).toBe(true);
        if (answer.status === 200) accepted += 1;
        else expect(answer.text.length, title).toBeLessThan(100_000);
      }
    }
    // Some members may be null, or are not looked at.
    if (accepted === 0) expect(await storedRows(api)).toBe(before);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect({}).not.toHaveProperty("admin");
  });
});
