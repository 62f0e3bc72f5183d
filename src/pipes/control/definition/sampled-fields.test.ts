/** Warnings of misspelt fields and of those that no column takes. */
import { expect, test } from "vitest";
import { mappingWarnings, sampledFields } from "./sampled-fields.ts";

const mapped = (...fields: string[]) => fields.map((sourceField) => ({ sourceField, name: sourceField }));
const messages = (fields: string[], ...sources: string[]) =>
  mappingWarnings(fields, mapped(...sources)).map(({ message }) => message);

test("a field that no sample has is named with its column and the nearest name", () => {
  expect(messages(["id", "user_name"], "id", "user_nmae")).toEqual([
    'no sample has the field "user_nmae": the column user_nmae stays empty; did you mean "user_name"?',
    "the samples have fields that no column takes: user_name",
  ]);
});

test("what is mapped whole, by a path or beside the message is well", () => {
  expect(messages(["id", "user", "a.b"], "id", "user.name", "a.b", "_offset")).toEqual([]);
  // The text of the message has all fields.
  expect(messages(["id", "user"], "_raw_message")).toEqual([]);
});

test("many fields are cut", () => {
  const fields = Array.from({ length: 25 }, (_, i) => `f${i}`);
  expect(messages(fields, "f0")[0]).toMatch(/: f1, .*, f20 and 4 more$/);
});

test("a source without samples is not a reason to refuse, but a request that is over is", async () => {
  const fails = async () => {
    throw new Error("no messages");
  };
  expect(await sampledFields(fails, new AbortController().signal)).toEqual([]);
  await expect(sampledFields(fails, AbortSignal.abort())).rejects.toThrow("no messages");
});
