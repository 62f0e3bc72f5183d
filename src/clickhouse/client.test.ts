import { expect, test } from "vitest";
import { ClickHouseClient } from "./client.ts";

test("a client of an external server is not made without the agent that follows the address policy", () => {
  const address = { host: "192.0.2.1", port: 8443, isExternal: true } as const;
  expect(() => new ClickHouseClient(address)).toThrow(/address policy/);
  expect(() => new ClickHouseClient(JSON.parse(JSON.stringify(address)))).toThrow(/address policy/);
});
