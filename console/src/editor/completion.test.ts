import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { completeSql, type Known, wantedAfter } from "./completion.ts";
import { noWords } from "./words.ts";

const tables = [
  {
    database: "default",
    name: "logs",
    engine: "MergeTree",
    comment: "",
    columns: [
      { name: "Body", type: "String" },
      { name: "odd name", type: "String" },
    ],
  },
  {
    database: "shop",
    name: "orders",
    engine: "Memory",
    comment: "",
    columns: [{ name: "total", type: "Decimal(9, 2)" }],
  },
];

function named(name: string) {
  return { name, aggregate: false, description: "", caseInsensitive: false, syntax: "" };
}

/** Labels of what is offered at the `|`. */
function offered(marked: string): string[] {
  return labelsOf(marked, { words: noWords, tables });
}

function labelsOf(marked: string, known: Known): string[] {
  const position = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.replace("|", "") });
  const result = completeSql(() => known)(new CompletionContext(state, position, true));
  return (result?.options ?? []).map(({ label }) => label);
}

test("tables follow FROM, columns a table or its alias, tables a database", () => {
  expect(offered("SELECT 1 FROM |")).toEqual(["logs", "shop.orders", "default", "shop"]);
  expect(offered("SELECT 1 FROM l|")).toEqual(["logs"]);
  expect(offered("SELECT logs.| FROM logs")).toEqual(["Body", "`odd name`"]);
  expect(offered("SELECT o.t| FROM shop.orders AS o")).toEqual(["total"]);
  expect(offered("SELECT * FROM shop.|")).toEqual(["orders"]);
});

test("columns are those of the statement's own tables", () => {
  const labels = offered("SELECT 1 FROM logs; SELECT t| FROM shop.orders");
  expect(labels).toContain("total");
  expect(labels).not.toContain("Body");
});

test("what begins with the word comes first, and what only resembles it is not offered", () => {
  const words = { ...noWords, functions: ["factorial", "subTotal", "total"].map(named), keywords: ["TO", "TOTALS"] };
  const at = (text: string) => labelsOf(text, { words, tables });
  expect(at("SELECT tot| FROM shop.orders")).toEqual(["total", "TOTALS", "total", "subTotal"]);
  expect(at("SELECT ori| FROM shop.orders")).toEqual([]);
});

test("names that the statement gives are offered in its other clauses, and none where a new one is expected", () => {
  expect(offered("SELECT count() AS n_rows FROM logs ORDER BY n_|")).toEqual(["n_rows"]);
  expect(offered("SELECT count() AS n|\nFROM logs")).toEqual([]);
  expect(offered("CREATE TABLE IF NOT EXISTS l|")).toEqual([]);
  expect(offered("ALTER TABLE logs ADD COLUMN B|")).toEqual([]);
});

test("nothing is offered in quotes and comments", () => {
  expect(offered("SELECT 'fr|'")).toEqual([]);
  expect(offered("SELECT 1 -- fr|")).toEqual([]);
});

test("the words before the cursor decide what is wanted", () => {
  expect(
    [
      "SELECT 1 FORMAT J",
      "SELECT 1 SETTINGS max_threads = 1, ",
      "CREATE TABLE t (a Int8) ENGINE = ",
      "SELECT a::",
      "SELECT {x:",
      "SELECT ",
    ].map(wantedAfter),
  ).toEqual(["format", "setting", "engine", "type", "type", "any"]);
});
