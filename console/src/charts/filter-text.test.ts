import { expect, test } from "vitest";
import { newSeries } from "./definition.ts";
import { withFilter } from "./filter-text.ts";

test("a condition is added once, and an OR before it keeps its meaning", () => {
  const first = withFilter(newSeries, "Service", 'a "b" \\', true);
  expect(first).toBe('Service:"a \\"b\\" \\\\"');
  expect(withFilter({ ...newSeries, where: first }, "Service", 'a "b" \\', true)).toBe(first);
  expect(withFilter({ ...newSeries, where: "a OR b" }, "odd name", "x", false)).toBe('(a OR b) AND NOT `odd name`:"x"');
});

test("SQL conditions compare the text of a value", () => {
  expect(withFilter({ ...newSeries, whereLanguage: "sql", where: "n > 1" }, "m['k']", "it's", true)).toBe(
    "n > 1 AND toString(m['k']) = 'it\\'s'",
  );
});
