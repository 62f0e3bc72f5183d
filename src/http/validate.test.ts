/** What is said of a body with thousands of mistakes. */
import { expect, test } from "vitest";
import { z } from "zod";
import { AppError } from "../lib/errors.ts";
import { validate } from "./validate.ts";

function refusal(schema: z.ZodType, value: unknown): AppError {
  try {
    validate(schema, value, "body");
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return expect.fail("the value should be refused");
}

test("a small body gets no large response, however many mistakes it has and however long its names are", () => {
  const schema = z.strictObject({ a: z.array(z.string()).optional() });
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 1]));
  const items = Array.from({ length: 50_000 }, () => ({}));
  for (const value of [members, { a: items }, { [`${"x".repeat(900_000)}`]: 1 }]) {
    const { issues, message } = refusal(schema, value);
    expect(JSON.stringify({ issues, message }).length).toBeLessThan(20_000);
    expect(issues?.length).toBeGreaterThan(0);
  }
});

test("few mistakes are all told", () => {
  const { issues } = refusal(z.strictObject({ a: z.string() }), { a: 1, b: 2, c: 3 });
  expect(issues?.map(({ path }) => path)).toEqual(["a", "b", "c"]);
});
