/** A number that is written as text is read as a person reads it, or is refused. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Operation } from "../../src/api/operation.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { loadConfig, settings } from "../../src/config.ts";
import { issuesOf, validateQuery } from "../../src/http/request/validate.ts";

const texts = ["0x10", "0b11", "1e2", " 12", "12 ", "+5", "Infinity", "1_0", "５"];
const sentence = "must be a number in decimal digits, such as 100";

function isNumber(schema: z.ZodType): boolean {
  const { type } = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  return type === "integer" || type === "number";
}

const operations: [string, Operation][] = Object.entries({ ...managementOperations, ...observabilityOperations });
const parameters = operations.flatMap(([operation, { query }]) =>
  Object.entries(query?.shape ?? {}).flatMap(([name, schema]) =>
    query !== undefined && isNumber(schema as z.ZodType) ? [{ operation, name, query }] : [],
  ),
);

test("every query parameter with a number is refused by name unless it is in decimal digits", () => {
  expect(parameters.length).toBeGreaterThan(20);
  for (const { operation, name, query } of parameters) {
    for (const text of [...texts, ""]) {
      let issues: unknown = "accepted";
      try {
        validateQuery(query, { ...required(query), [name]: text });
      } catch (error) {
        issues = issuesOf(error);
      }
      expect([operation, text, issues]).toEqual([operation, text, [{ path: name, message: sentence }]]);
    }
  }
});

/** Values for the parameters without which a request is refused. */
function required(query: z.ZodObject): Record<string, string> {
  const names = z.toJSONSchema(query, { unrepresentable: "any", io: "input" }).required ?? [];
  return Object.fromEntries(names.map((name) => [name, "e7a3ac2c-5c4c-4c8e-9bcb-0a8c4a4dd2f5"]));
}

test("every setting with a number is refused by name unless it is in decimal digits", () => {
  const names = Object.entries(settings).flatMap(([name, schema]) => (isNumber(schema) ? [name] : []));
  expect(names).toContain("minFreeDiskGb");
  for (const name of names) {
    for (const text of texts) expect(() => loadConfig({ [name]: text }, {}), `${name}=${text}`).toThrow(sentence);
  }
  expect(loadConfig({ minFreeDiskGb: "0.5", gatewayPort: "8443", gatewayDomain: "x.io" }, {})).toMatchObject({
    ...{ minFreeDiskGb: 0.5, gatewayPort: 8443 },
  });
});
