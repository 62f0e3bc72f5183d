import { isIP } from "node:net";
import { expect, test } from "vitest";
import { reachableHost } from "./reachable-host.ts";

test("an address that other machines can use: the given one, or one of this machine", () => {
  expect(reachableHost("10.0.0.1", 9000)).toBe("10.0.0.1:9000");
  expect(reachableHost("a.example.com", 9000)).toBe("a.example.com:9000");
  expect(reachableHost("fd00::1", 9000)).toBe("[fd00::1]:9000");
  for (const all of ["0.0.0.0", "::"]) {
    const { hostname, port } = new URL(`tls://${reachableHost(all, 9000)}`);
    expect(isIP(hostname.replace(/^\[|\]$/g, ""))).not.toBe(0);
    expect([hostname === all, hostname === `[${all}]`, port]).toEqual([false, false, "9000"]);
  }
});
