import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { hostChanges } from "./host-changes.ts";
import type { Installation, InstallationStatus } from "./objects.ts";

test("hosts are compared every few seconds until the operator has completed the installation", async () => {
  let time = 0;
  let reads = 0;
  let status: InstallationStatus | undefined = { status: "InProgress", taskID: "t", fqdns: ["a"] };
  const read = async () => {
    reads += 1;
    if (status === undefined) throw new Error("the API server is away");
    return { spec: { taskID: "t", stop: "no" }, status } as Installation;
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
  status = undefined;
  expect(await later()).toBe(false);
  status = { status: "InProgress", taskID: "t", fqdns: ["a", "b"] };
  expect(await later()).toBe(true);
  status = { status: "Completed", taskIDsCompleted: ["t"], fqdns: ["a"] };
  expect(await later()).toBe(false);
  const settled = reads;
  expect([await later(), reads]).toEqual([false, settled]);
});
