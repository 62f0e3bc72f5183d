import { expect, test } from "vitest";
import { parsePortRange } from "./port-range.ts";

test.each(["", "1", "0-5", "9-8", "1-65536", "a-b"])("%j is not a range of ports", (text) => {
  expect(() => parsePortRange(text)).toThrow("as in 21000-21999");
});
