import { describe, expect, test } from "vitest";
import { requestExamples } from "./examples.ts";
import type { Operation } from "./operation.ts";
import { managementOperations, observabilityOperations } from "./operations.ts";

const operations: Record<string, Operation> = { ...managementOperations, ...observabilityOperations };
const withBody = Object.entries(operations).filter(([, { body }]) => body !== undefined);

describe("examples of requests", () => {
  test.each(withBody)("%s has one, and each is a valid body", (id, operation) => {
    expect(requestExamples[id]?.length ?? 0).toBeGreaterThan(0);
    for (const { title, body } of requestExamples[id] ?? []) {
      const parsed = operation.body?.safeParse(body);
      expect(parsed?.error?.issues ?? [], title).toEqual([]);
    }
  });

  test("belong to operations that exist", () => {
    expect(Object.keys(requestExamples).filter((id) => operations[id]?.body === undefined)).toEqual([]);
  });
});

/** Bodies that the handler judges: it refuses every connection, and says what is wrong with a dashboard. */
const judgedLater = ["createConnection", "replaceConnection", "validateDashboard"];
const withName = withBody.filter(
  ([id]) =>
    typeof (requestExamples[id]?.[0]?.body as Named | undefined)?.name === "string" && !judgedLater.includes(id),
);
type Named = { readonly name?: unknown };

test.each(withName)("%s refuses a name that is blank", (id, { body }) => {
  const takes = (name: string) => body?.safeParse({ ...(requestExamples[id]?.[0]?.body as Named), name }).success;
  expect([takes("x"), takes("   "), takes("\u00a0")]).toEqual([true, false, false]);
});
