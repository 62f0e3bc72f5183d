import { expect, test } from "vitest";
import { formOf, incompleteness, partBodyOf, planBodyOf, restoreSearch } from "./restore-form.ts";
import { secondsLeft } from "./restore-plan.tsx";

const contents = [
  { database: "shop", table: "orders", rows: 10 },
  { database: "shop", table: "users", rows: null },
];
const defaults = { target: "service-1", name: "shop restored" };

test("the address keeps what it knows, and names that look like numbers stay names", () => {
  expect(restoreSearch({ scope: "table", table: 2026, pipes: "stopped", other: "x", database: "" })).toEqual({
    scope: "table",
    table: "2026",
  });
});

test("a table is restored beside its original unless another name is given", () => {
  const form = formOf({ scope: "table", table: "users" }, contents, defaults);
  expect(partBodyOf(form, false)).toEqual({
    database: "shop",
    table: "users",
    targetServiceId: "service-1",
    targetDatabase: "shop",
    targetTable: "users_restored",
  });
  expect(planBodyOf(formOf({ scope: "database" }, contents, defaults), true)).toEqual({
    database: "shop",
    targetServiceId: "service-1",
    targetDatabase: "shop_restored",
    force: true,
  });
});

test("a form that lacks something says what, and an emptied field stays empty", () => {
  expect(incompleteness(formOf({}, contents, defaults))).toBeUndefined();
  expect(incompleteness(formOf({ scope: "table", targetTable: "" }, contents, defaults))).toBe(
    "Name the restored table.",
  );
  expect(incompleteness(formOf({ scope: "database" }, [], defaults))).toBe("The backup contains no tables.");
});

test("the time that is left follows from the rate so far, and is unknown while nothing moves", () => {
  expect(secondsLeft({ at: 0, bytes: 100 }, { at: 2_000, bytes: 300 }, 1_300)).toBe(10);
  expect(secondsLeft({ at: 0, bytes: 100 }, { at: 2_000, bytes: 100 }, 1_300)).toBeUndefined();
  expect(secondsLeft(undefined, { at: 0, bytes: 100 }, 1_300)).toBeUndefined();
});
