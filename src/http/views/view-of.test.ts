import { expect, test } from "vitest";
import { z } from "zod";
import { viewOf } from "./view-of.ts";

const view = viewOf(z.object({ id: z.string(), reason: z.string().optional(), endsAt: z.string().nullable() }));

test("members that the schema does not have are never shown", () => {
  const stored = { id: "a", reason: "why", endsAt: "now", passwordSha256: "secret" };
  expect(view(stored)).toEqual({ id: "a", reason: "why", endsAt: "now" });
});

test("what is null is absent, unless the schema has null as a value", () => {
  expect(view({ id: "a", reason: null, endsAt: null })).toEqual({ id: "a", endsAt: null });
});
