import { expect, test } from "vitest";
import { z } from "zod";
import { schemaFields } from "./fields.ts";

const rows = (schema: z.ZodType) =>
  schemaFields(z.toJSONSchema(schema, { io: "input" })).map(({ path, type, required }) => [path, type, required]);

test("members have a row each, with their type, bounds and whether they are required", () => {
  const schema = z.object({
    name: z.string().min(1).max(50),
    state: z.enum(["a", "b"]).nullish(),
    count: z.int().min(1).max(9).default(3),
    any: z.int().optional(),
    tags: z
      .array(z.object({ key: z.string() }))
      .max(5)
      .optional(),
  });
  expect(rows(schema)).toEqual([
    ["name", "string, 1 to 50 characters", true],
    ["state", '"a" or "b" or null', false],
    ["count", "integer, 1 to 9", false],
    ["any", "integer", false],
    ["tags", "list of object, at most 5 elements", false],
    ["tags[].key", "string", true],
  ]);
});

test("a member of several shapes lists the members of all of them once", () => {
  const schema = z.object({
    source: z.union([z.object({ url: z.string() }), z.object({ url: z.string(), key: z.string() }), z.null()]),
  });
  expect(rows(schema).map(([path]) => path)).toEqual(["source", "source.url", "source.key"]);
});

test("a schema that holds itself ends", () => {
  type Tree = { children?: Tree[] | undefined };
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree).optional() }));
  expect(rows(tree).length).toBeLessThan(20);
});

test("defaults and descriptions are told", () => {
  const schema = z.object({ a: z.int().default(3).describe("How many") });
  expect(schemaFields(z.toJSONSchema(schema, { io: "input" }))[0]).toMatchObject({ default: "3", meaning: "How many" });
});
