/** The allow-list against the engine that runs it. */
import { expect, test } from "vitest";
import { startEngine } from "../../../harness/engine/chart-engine.ts";
import { allowedFunctions } from "./functions.ts";

test("every allowed function exists under exactly that name and is not an aggregate", async () => {
  await using engine = await startEngine();
  const known = await engine.client.rows<{ name: string }>(
    "SELECT name FROM system.functions WHERE is_aggregate = 0 AND origin = 'System'",
  );
  const names = new Set(known.map(({ name }) => name));
  expect(allowedFunctions().filter((name) => !names.has(name))).toEqual([]);
});
