import { expect, test } from "vitest";
import { followed, formatOf } from "./following.ts";
import { emptyForm, type Form } from "./form.ts";

const kafka: Form = {
  ...emptyForm,
  kind: "messageBroker",
  topics: ["clicks-eu"],
  table: "clicks_eu",
  name: "clicks-eu",
};
const columns = [{ field: "a", name: "a", type: "String" }];

test("another topic has other names, columns and keys, and what the user named stays", () => {
  const before = { ...kafka, columns, sortingKey: ["a"] };
  expect(followed(before, { topics: ["orders"] })).toMatchObject({
    ...{ name: "orders", table: "orders", columns: [], sortingKey: [] },
  });
  expect(followed({ ...before, name: "Mine" }, { topics: ["orders"] })).toMatchObject({
    name: "Mine",
    table: "orders",
  });
  expect(followed(before, { name: "x", database: "d" })).toMatchObject({ name: "x", columns });
  expect(followed(emptyForm, { kind: "messageBroker", topics: ["t.1"] })).toMatchObject({ name: "t.1", table: "t_1" });
});

test("an object's URL tells the format and the name", () => {
  const form: Form = { ...emptyForm, kind: "objectStorage", values: { format: "JSONEachRow" } };
  const url = "https://b.s3.eu-west-1.amazonaws.com/raw/flights/2001-*.parquet";
  expect(followed(form, { values: { ...form.values, url } })).toMatchObject({
    ...{ name: "flights", table: "flights", values: { format: "Parquet" } },
  });
  // A format that was chosen after the URL stays.
  const chosen = followed(form, { values: { ...form.values, url } });
  expect(followed(chosen, { values: { ...chosen.values, format: "ORC" } }).values.format).toBe("ORC");
  expect(["x.csv.gz", "a/*.ndjson", "*.tsv", "data"].map(formatOf)).toEqual([
    ...["CSVWithNames", "JSONEachRow", "TabSeparatedWithNames", undefined],
  ]);
});
