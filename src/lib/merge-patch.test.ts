import { expect, test } from "vitest";
import { mergePatch } from "./merge-patch.ts";

test("members are replaced, added and removed, also in inner objects, and others stay in their place", () => {
  const document = { a: 1, b: { c: 2, d: 3 }, e: [1, 2] };
  expect(JSON.stringify(mergePatch(document, { b: { c: null, f: 4 }, e: [3], g: 5 }))).toBe(
    '{"a":1,"b":{"d":3,"f":4},"e":[3],"g":5}',
  );
  expect(document).toEqual({ a: 1, b: { c: 2, d: 3 }, e: [1, 2] });
});

test("what is not an object is replaced", () => {
  expect(mergePatch([1], { a: { b: null } })).toEqual({ a: {} });
  expect(mergePatch({ a: 1 }, "x")).toBe("x");
});
