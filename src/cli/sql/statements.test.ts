import { expect, test } from "vitest";
import { isComplete, statementsIn } from "./statements.ts";

test("semicolons in quotes and comments separate nothing", () => {
  expect(statementsIn("SELECT ';' -- ;\n; /* ; */ ;SELECT `a;b`")).toEqual(["SELECT ';' -- ;", "SELECT `a;b`"]);
  expect(statementsIn(" ;; -- nothing\n")).toEqual([]);
});

test("a statement ends with its semicolon", () => {
  expect(["SELECT 1", "SELECT 1;", "SELECT ';", ""].map(isComplete)).toEqual([false, true, false, true]);
});
