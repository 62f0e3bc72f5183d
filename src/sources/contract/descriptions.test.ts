/** What the kinds say of themselves fits their schemas. */
import { describe, expect, test } from "vitest";
import { sourceDescriptions, sourceKindKeys } from "./descriptions.ts";
import { holds, isSecretMember } from "./fields.ts";
import { sourceKinds } from "./registry.ts";

type Schema = {
  shape?: Record<string, Schema>;
  unwrap?: () => Schema;
  options?: (Schema | string)[];
};

/** The schema of a member; undefined if there is none. */
function schemaAt(schema: Schema, [name, ...rest]: readonly string[]): Schema | undefined {
  if (schema.unwrap !== undefined) return schemaAt(schema.unwrap(), name === undefined ? [] : [name, ...rest]);
  if (name === undefined) return schema;
  const inner = schema.options?.map((option) => schemaAt(option as Schema, [name, ...rest])) ?? [];
  const member = schema.shape?.[name];
  return member === undefined ? inner.find((found) => found !== undefined) : schemaAt(member, rest);
}

describe.each(sourceKindKeys)("%s", (key) => {
  const { fields, logins, vendors, secrets, mutable, summaries, named, listing } = sourceDescriptions[key];
  const request = sourceKinds[key].request as unknown as Schema;
  const schemaOf = (path: string) => schemaAt(request, path.split("."));

  test("every path is a member of the request", () => {
    const conditions = [...fields.flatMap(({ when = [] }) => when), ...logins.flatMap(({ when }) => when)];
    const paths = [
      ...[...fields, ...conditions].map(({ path }) => path),
      ...[...secrets, ...mutable, listing.member, ...logins.flatMap(({ members }) => members)],
      ...[...summaries, ...named].flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)),
    ];
    expect(paths.filter((path) => schemaOf(path) === undefined)).toEqual([]);
    expect(schemaOf("nope")).toBeUndefined();
  });

  test("the vendors are the values of `type`, and options are values of their member", () => {
    const types = schemaOf("type")?.options ?? [];
    expect(vendors.flatMap(({ type }) => type ?? []).toSorted()).toEqual([...types].toSorted() as string[]);
    for (const { path, options = [] } of fields) {
      const known = schemaOf(path)?.options;
      if (known === undefined) continue;
      expect(known, path).toEqual(expect.arrayContaining(options.map(({ value }) => value).filter(Boolean)));
    }
  });

  test("a login has fields, of which the secret ones are below a secret path", () => {
    for (const path of logins.flatMap(({ members }) => members)) {
      expect(fields.map((field) => field.path)).toContain(path);
      expect(secrets.some((secret) => path === secret || path.startsWith(`${secret}.`))).toBe(true);
    }
    const secretFields = fields.filter(({ input }) => input === "secret").map(({ path }) => path);
    expect(secretFields.filter((path) => !isSecretMember(sourceDescriptions[key], path))).toEqual([]);
  });
});

test("a condition holds for values and for what is not set", () => {
  const value = (path: string) => ({ mode: "a", empty: "", count: 3 })[path];
  expect(holds(undefined, value)).toBe(true);
  expect(holds([{ path: "mode", is: ["a", "b"] }], value)).toBe(true);
  expect(holds([{ path: "count", is: ["3"] }], value)).toBe(true);
  expect(holds([{ path: "mode", not: ["a"] }], value)).toBe(false);
  expect(holds([{ path: "empty", isSet: false }], value)).toBe(true);
  expect(
    holds(
      [
        { path: "mode", isSet: true },
        { path: "missing", isSet: true },
      ],
      value,
    ),
  ).toBe(false);
});

test("all below a secret path is secret, but what has a field that is not", () => {
  const { messageBroker } = sourceDescriptions;
  expect(isSecretMember(messageBroker, "credentials.username")).toBe(false);
  expect(isSecretMember(messageBroker, "credentials.privateKey")).toBe(true);
  expect(isSecretMember(messageBroker, "credentials")).toBe(true);
  expect(isSecretMember(messageBroker, "schemaRegistry.credentials.password")).toBe(true);
  expect(isSecretMember(messageBroker, "brokers")).toBe(false);
});
