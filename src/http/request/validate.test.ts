/** What is said of a body with thousands of mistakes. */
import { expect, test } from "vitest";
import { z } from "zod";
import { changing } from "../../api/operation.ts";
import { AppError } from "../../lib/errors.ts";
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

test("an unknown member is answered with the nearest known one, in objects within objects too", () => {
  const settings = z.strictObject({ streaming_max_insert_wait_ms: z.int().optional() }).optional();
  const { issues } = refusal(z.strictObject({ settings }), { settings: { streaming_max_insert_wait: 1, zzz: 1 } });
  expect(issues).toEqual([
    {
      path: "settings.streaming_max_insert_wait",
      message: "is not a known field; did you mean streaming_max_insert_wait_ms?",
    },
    { path: "settings.zzz", message: "is not a known field" },
  ]);
});

test("a value of another type is told once, without the limits of the type that it should have", () => {
  const schema = z.strictObject({ list: z.array(z.string()).max(3), name: z.string().max(2) });
  const { issues } = refusal(schema, { list: "abcdef", name: ["a", "b", "c"] });
  expect(issues).toEqual([
    { path: "list", message: "must be a list, not text" },
    { path: "name", message: "must be text, not a list" },
  ]);
});

test("a change whose only member is not known is told that, and not also that it is empty", () => {
  const schema = changing(z.strictObject({ memory: z.int().optional() }));
  expect(refusal(schema, { memry: 1 }).issues).toEqual([
    { path: "memry", message: "is not a known field; did you mean memory?" },
  ]);
  expect(refusal(schema, {}).issues).toEqual([{ path: "", message: "must change at least one member" }]);
});
