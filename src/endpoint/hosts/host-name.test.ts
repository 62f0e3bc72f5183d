import { expect, test } from "vitest";
import { hostNameOf, namedHostOf } from "./host-name.ts";

const id = "0f1e2d3c-4b5a-4697-8899-aabbccddeeff";

test.each([
  [hostNameOf(id, "db.example"), { kind: "service", id }],
  [`${id}.db.example:8443`, { kind: "service", id }],
  [`${id.toUpperCase()}.DB.Example.`, { kind: "service", id }],
  ["any.db.example", { kind: "service", id: "any" }],
  ["db.example", { kind: "gateway" }],
  ["db.example:8123", { kind: "gateway" }],
  [`more.${id}.db.example`, { kind: "foreign" }],
  [`${id}.db.example.org`, { kind: "foreign" }],
  [`${id}xdb.example`, { kind: "foreign" }],
  [".db.example", { kind: "foreign" }],
  ["127.0.0.1:8123", { kind: "address" }],
  ["[::1]:8123", { kind: "address" }],
  ["", { kind: "missing" }],
  [undefined, { kind: "missing" }],
])("%s", (header, named) => {
  expect(namedHostOf(header, "db.example")).toEqual(named);
});
