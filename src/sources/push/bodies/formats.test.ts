/** What is said of the line of names of a body. */
import { expect, test } from "vitest";
import { headProblem } from "./formats.ts";

const csv = { format: "CSVWithNames" } as const;
const tsv = { format: "TabSeparatedWithNames" } as const;

test("a line that names a field of the pipe is accepted, however the name is written", () => {
  expect(headProblem(csv, ["id"], "x, id")).toBe(undefined);
  expect(headProblem(csv, ["id"], '"x","id"')).toBe(undefined);
  expect(headProblem(csv, ["a,b"], 'x,"a,b"')).toBe(undefined);
  expect(headProblem(csv, ['a"b'], '"a""b",x')).toBe(undefined);
  expect(headProblem(tsv, ["a\tb"], "a\\tb\tx")).toBe(undefined);
});

test("a line that names none, for example with another delimiter, is not", () => {
  expect(headProblem(csv, ["id", "name"], "id;name")).toContain(
    "names none of the fields that the pipe reads: id, name",
  );
  expect(headProblem(csv, ["id"], '"id";"name"')).toContain("names none");
  expect(headProblem({ ...csv, delimiter: ";" }, ["id"], "id;name")).toBe(undefined);
});
