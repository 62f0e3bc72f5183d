import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../../harness/limits.ts";
import { openTestStores } from "../../../harness/stores.ts";
import type { Stores } from "../open.ts";

const connection = { urls: ["https://ch.example.com:8443"], username: "owner" };
const table = { database: "default", name: "t" };

let folder: string;
let stores: Stores;
let organizationId: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-moves-"));
  stores = await openTestStores(folder);
  organizationId = (await stores.organizations.create("o")).id;
});
afterAll(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

let port = 1;
async function service(): Promise<string> {
  port += 1;
  return await stores.services.create(
    {
      ...{ organizationId, name: `s${port}`, provider: "local", region: "local", port, diskGb: 3 },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 2, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "digest" },
    },
    limits,
  );
}

async function moveOf(serviceId: string) {
  const connectionPassword = stores.connectionPasswords.seal(serviceId, "open-sesame");
  const id = await stores.serviceMoves.request({ serviceId, connection, connectionPassword, leaveBehind: false });
  return async () => {
    const move = await stores.serviceMoves.find(id);
    if (move === undefined) throw new Error("the move is missing");
    return move;
  };
}

test("a service has one open move, and an ended one makes room for the next", async () => {
  const id = await service();
  const move = await moveOf(id);
  await expect(moveOf(id)).rejects.toMatchObject({ code: "CONFLICT" });
  await stores.serviceMoves.cancelled(await move(), null);
  const again = await moveOf(id);
  expect((await stores.serviceMoves.latestOf(id))?.id).toBe((await again()).id);
});

test("an abandoned switch gives the service its desired state back", async () => {
  const id = await service();
  const move = await moveOf(id);
  await stores.serviceMoves.beginSwitch(await move());
  expect(await stores.services.find(id)).toMatchObject({ desiredState: "stopped" });
  await stores.serviceMoves.abandonSwitch(await move());
  expect(await stores.services.find(id)).toMatchObject({ desiredState: "running", runtime: "embedded" });
  expect(await move()).toMatchObject({ status: "copying", finishedAt: null });
});

test("the switch makes the service external under its id, and keeps the old side with its users", async () => {
  const id = await service();
  const move = await moveOf(id);
  await stores.serviceMoves.beginSwitch(await move());
  const before = await stores.services.find(id);
  const old = { id: (await move()).id, name: "old", port: 900 };
  await stores.serviceMoves.switchOver(await move(), old);
  const after = await stores.services.find(id);
  if (after === undefined) throw new Error("the service is missing");
  expect(after).toMatchObject({ runtime: "external", connection, desiredState: "running", port: before?.port });
  expect(after).toMatchObject({ maxReplicaMemoryGb: 0, idleScaling: false, diskGb: null });
  expect(stores.connectionPasswords.open(after)).toBe("open-sesame");
  expect(await stores.services.find(old.id)).toMatchObject({
    ...{ runtime: "embedded", connection: null, desiredState: "stopped", state: "stopped", name: "old", port: 900 },
    ...{ maxReplicaMemoryGb: 2, idleScaling: true, diskGb: 3 },
  });
  expect(await stores.services.listUsers(old.id)).toMatchObject([{ name: "default", passwordSha256: "digest" }]);
  expect(await move()).toMatchObject({ status: "completed", oldServiceId: old.id });
});

test("parts count as copied once their unit is confirmed, and not after their partition is forgotten", async () => {
  const move = await moveOf(await service());
  const { id } = await move();
  const { serviceMoveContents: contents } = stores;
  const part = (partition: string, name: string) => ({ partition, part: name, rows: 10, bytes: 100 });
  const unit = await contents.beginUnit(id, table, [part("a", "a_1_1_0"), part("a", "a_2_2_0")]);
  expect((await move()).progress.copiedRows).toBe(0);
  await contents.confirmUnit(id, unit);
  await contents.confirmUnit(id, await contents.beginUnit(id, table, [part("b", "b_1_1_0")]));
  expect((await move()).progress).toMatchObject({ copiedRows: 30, copiedBytes: 300 });
  await contents.forgetPartition(id, table, "a");
  expect((await move()).progress).toMatchObject({ copiedRows: 10, copiedBytes: 100 });
  expect(await contents.listParts(id, table)).toMatchObject([{ part: "b_1_1_0", isCopied: true }]);
});
