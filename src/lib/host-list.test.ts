import { expect, test } from "vitest";
import { parseHosts } from "./host-list.ts";

test("hosts are read in order, and a wrong one is named", () => {
  expect(parseHosts("a:2181, b.c-d:9181")).toEqual([
    { host: "a", port: 2181 },
    { host: "b.c-d", port: 9181 },
  ]);
  for (const text of ["a", "a:0", "a:70000", ":2181", "a:1,,b:2", "http://a:1"]) {
    expect(() => parseHosts(text), text).toThrow(/is not host:port, such as keeper-0:2181/);
  }
});
