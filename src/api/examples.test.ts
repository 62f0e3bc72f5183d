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
