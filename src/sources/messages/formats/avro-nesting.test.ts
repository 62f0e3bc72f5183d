/** Avro messages that would cost the engine its stack or its time. */
import { expect, test } from "vitest";
import { maxAvroDepth, nestingCheck } from "./avro-nesting.ts";

const list = {
  type: "record",
  name: "r",
  namespace: "some",
  fields: [
    { name: "id", type: "long" },
    { name: "list", type: { type: "record", name: "Node", fields: [{ name: "next", type: ["null", "Node"] }] } },
  ],
};
const tree = { type: "record", name: "T", fields: [{ name: "children", type: { type: "array", items: "T" } }] };
const map = { type: "record", name: "M", fields: [{ name: "m", type: ["null", { type: "map", values: "some.M" }] }] };
const mutual = {
  type: "record",
  name: "A",
  fields: [{ name: "b", type: { type: "record", name: "B", fields: [{ name: "a", type: ["null", "A"] }] } }],
};
const nulls = { type: "record", name: "N", fields: [{ name: "a", type: { type: "array", items: "null" } }] };
const empties = {
  type: "record",
  name: "E",
  fields: [{ name: "a", type: { type: "array", items: { type: "record", name: "F", fields: [] } } }],
};
const flat = {
  type: "record",
  name: "r",
  fields: [
    { name: "e", type: { type: "enum", name: "E", symbols: ["x"] } },
    { name: "again", type: "E" },
    { name: "tags", type: { type: "array", items: ["null", "string"] } },
    { name: "by", type: { type: "map", values: "bytes" } },
    { name: "f", type: { type: "fixed", name: "F", size: 4 } },
  ],
};

function check(schema: unknown, bytes: readonly number[]): string | undefined {
  const message = Buffer.concat([Buffer.from([9, 9]), Buffer.from(bytes), Buffer.from([9])]);
  const found = nestingCheck(schema);
  if (found === undefined) throw new Error("is not checked");
  return found(message, 2, message.length - 1);
}

const times = (count: number, ...bytes: readonly number[]) => Array.from({ length: count }, () => bytes).flat();

test("schemas whose messages cost what their bytes do are not checked", () => {
  for (const schema of [flat, "long", null, 5, { type: "record", name: "x" }, ["null", "nothing"]]) {
    expect(nestingCheck(schema)).toBe(undefined);
  }
});

test("messages of schemas that refer to themselves are read", () => {
  expect(check(list, [2, ...times(500, 2), 0])).toBe(undefined);
  expect(check(tree, [4, 0, 2, 0, 0, 0])).toBe(undefined);
  expect(check(tree, [1, 2, 0, 0])).toBe(undefined);
  expect(check({ ...map, namespace: "some" }, [2, 2, 2, 0x78, 0, 0])).toBe(undefined);
  expect(check(mutual, [2, 2, 0])).toBe(undefined);
  expect(check(nulls, [20, 0])).toBe(undefined);
});

test.each([
  ["a list", list, [2, ...times(300_000, 2), 0]],
  ["a tree", tree, [...times(300_000, 2), ...times(300_001, 0)]],
  ["two types", mutual, [...times(300_000, 2), 0]],
])("%s that is nested deeper than the engine bears is refused", (_, schema, bytes) => {
  expect(check(schema, bytes)).toBe(`The message is nested more than ${maxAvroDepth} deep.`);
});

const huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];

test.each([
  ["2^48 nulls", nulls, [...huge, 0]],
  ["2^48 records without fields", empties, [...huge, 0]],
  ["a branch that the schema lacks", list, [2, 4]],
  ["a negative branch", list, [2, 1]],
  ["a message that breaks off", list, [2, 2]],
  ["a number of eleven bytes", list, times(11, 0x80)],
  ["a key longer than the message", { ...map, namespace: "some" }, [2, 2, 0x7e]],
])("%s is refused", (_, schema, bytes) => {
  expect(check(schema, bytes)).toBe("The message cannot be read with its schema.");
});
