import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { type FoundHosts, hostChanges } from "./host-changes.ts";

test("hosts are compared every few seconds until the operator is done", async () => {
  let time = 0;
  let reads = 0;
  let found: FoundHosts | undefined = { hosts: ["a"], isComplete: false };
  const read = async () => {
    reads += 1;
    if (found === undefined) throw new Error("the API server is away");
    return found;
  };
  const haveChanged = hostChanges(["a"], read, () => time);
  const ask = async () => {
    haveChanged();
    await turn();
    return haveChanged();
  };
  const later = async () => {
    time += 5_000;
    return await ask();
  };
  expect([await ask(), await ask(), reads]).toEqual([false, false, 1]);
  found = undefined;
  expect(await later()).toBe(false);
  found = { hosts: ["a", "b"], isComplete: false };
  expect(await later()).toBe(true);
  found = { hosts: ["a"], isComplete: true };
  expect(await later()).toBe(false);
  const settled = reads;
  expect([await later(), reads]).toEqual([false, settled]);
});
