import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newPipe, newService } from "../../../harness/new-pipe.ts";
import { openTestDatabase } from "../../../harness/stores.ts";
import { OrganizationStore } from "../access/organizations.ts";
import type { Database } from "../database/database.ts";
import { Sealer } from "../database/secrets.ts";
import { Ledger } from "../pipes/ledger.ts";
import { PipeStore } from "../pipes/pipes.ts";
import { ServiceStore } from "../services/services.ts";
import { isLedHere, SharedLeases } from "./leases.ts";
import { NodeLease } from "./nodes.ts";

let dir: string;
let db: Database;
const clock = { now: 0 };
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-leases-"));
  db = await openTestDatabase(dir);
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

const of = (nodeId: string) => new SharedLeases({ db, nodeId, now: () => clock.now });
const expire = () => db.run("UPDATE leases SET expires_at = 1");
const lost = { code: "LEASE_LOST", status: 503 };
const require = (leases: SharedLeases, id = "p") => db.transaction((tx) => leases.require(tx, "pipe", id));

test("one process at a time has a lease: until it releases it, or renews it no more", async () => {
  const [a, b] = [of("a"), of("b")];
  expect(await a.claim("pipe", ["q", "p"])).toEqual(["p", "q"]);
  expect(await b.claim("pipe", ["p", "q", "r"])).toEqual(["r"]);
  expect(await b.free("pipe", ["p", "q", "r", "s"])).toEqual(["r", "s"]);
  await a.release("pipe", ["p"]);
  expect([a.holds("pipe", "p"), a.holds("pipe", "q"), a.holds("service", "q")]).toEqual([false, true, false]);
  expect(await b.claim("pipe", ["p", "q"])).toEqual(["p"]);
  await expire();
  await a.renew();
  expect(await b.claim("pipe", ["q"])).toEqual([]);
  await expire();
  expect(await b.claim("pipe", ["q"])).toEqual(["q"]);
});

test("what is released at the same time is free for others, and what is claimed again afterwards is kept", async () => {
  const [a, b] = [of("a"), of("b")];
  await a.claim("pipe", ["p", "q", "r"]);
  await a.claim("service", ["s"]);
  const released = Promise.all([a.release("pipe", ["p"]), a.release("pipe", ["q"]), a.release("service", ["s"])]);
  const again = a.claim("pipe", ["q"]);
  await released;
  expect(await again).toEqual(["q"]);
  expect(await b.claim("pipe", ["p", "q", "r"])).toEqual(["p"]);
  expect(await b.claim("service", ["s"])).toEqual(["s"]);
  await a.release("pipe", ["r"]);
  expect(await b.claim("pipe", ["q", "r"])).toEqual(["r"]);
});

test("a release that the database refuses is given up, and takes back nothing that is claimed later", async () => {
  let isAway = true;
  const failing: Database = {
    ...db,
    transaction: (body, rows) => (isAway ? Promise.reject(new Error("away")) : db.transaction(body, rows)),
  };
  const a = new SharedLeases({ db: failing, nodeId: "a", now: () => clock.now });
  isAway = false;
  await a.claim("pipe", ["p", "q"]);
  isAway = true;
  await expect(a.release("pipe", ["p"])).rejects.toThrow("away");
  isAway = false;
  await a.claim("pipe", ["p"]);
  await a.release("pipe", ["q"]);
  expect(await of("b").claim("pipe", ["p", "q"])).toEqual(["q"]);
});

test("the others count on a process from when it joins until it leaves", async () => {
  const slots = async () => (await of("a").peers()).map((peer) => [peer.id, peer.slots]);
  for (const id of ["a", "b"]) await NodeLease.claim(db, { id, role: "worker", version: "1", isExclusive: false });
  const [a, b] = [of("a"), new SharedLeases({ db, nodeId: "b", slots: 3 })];
  expect(await slots()).toEqual([
    ["a", 0],
    ["b", 0],
  ]);
  await a.join();
  await b.join();
  expect(await slots()).toEqual([
    ["a", Number.POSITIVE_INFINITY],
    ["b", 3],
  ]);
  await a.leave();
  expect(await slots()).toEqual([
    ["a", 0],
    ["b", 3],
  ]);
});

test("what another process has taken is lost: at the next write, and at the next renewal with a call", async () => {
  const [a, b] = [of("a"), of("b")];
  await a.claim("pipe", ["p", "q"]);
  const heard = vi.fn();
  a.onLost(heard);
  await expire();
  await b.claim("pipe", ["p"]);
  await expect(require(a)).rejects.toMatchObject(lost);
  await require(b);
  expect(heard).not.toHaveBeenCalled();
  await a.renew();
  expect(heard).toHaveBeenCalledTimes(1);
  expect([a.holds("pipe", "p"), a.holds("pipe", "q")]).toEqual([false, true]);
  await require(a, "q");
});

test("a fence is never used twice, also by a process that gets back what it had", async () => {
  const [a, b] = [of("a"), of("b")];
  const fences: number[] = [];
  for (const leases of [a, b, a, a]) {
    await expire();
    await leases.claim("pipe", ["p"]);
    fences.push((await db.get<{ fence: number }>("SELECT fence FROM leases"))?.fence ?? 0);
    expect(leases.fenceOf("pipe", "p")).toBe(fences.at(-1));
  }
  expect(fences).toEqual([1, 2, 3, 4]);
  await a.release("pipe", ["p"]);
  expect(a.fenceOf("pipe", "p")).toBe(0);
  await expect(require(b)).rejects.toMatchObject(lost);
});

test("a process that cannot renew leaves everything five seconds before its leases end, by its own clock", async () => {
  vi.useFakeTimers();
  try {
    const a = of("a");
    const heard = vi.fn();
    a.onLost(heard);
    await a.claim("pipe", ["p"]);
    clock.now += 5_000;
    await a.renew();
    clock.now += 9_999;
    vi.advanceTimersByTime(9_999);
    expect([a.holds("pipe", "p"), heard.mock.calls.length]).toEqual([true, 0]);
    clock.now += 1;
    vi.advanceTimersByTime(1);
    expect([a.holds("pipe", "p"), heard.mock.calls.length]).toEqual([false, 1]);
    await expect(require(a)).rejects.toMatchObject(lost);
    expect(await a.claim("pipe", ["p"])).toEqual(["p"]);
    await require(a);
  } finally {
    vi.useRealTimers();
  }
});

test("what a process has stopped by its own clock ends for the others, too, although it renews what it claims anew", async () => {
  vi.useFakeTimers();
  try {
    const [a, b] = [of("a"), of("b")];
    await a.claim("pipe", ["p", "q"]);
    clock.now += 10_001;
    vi.advanceTimersByTime(10_001);
    expect([a.holds("pipe", "p"), a.holds("pipe", "q")]).toEqual([false, false]);
    await a.claim("pipe", ["q"]);
    await expire();
    await a.renew();
    expect(await b.claim("pipe", ["p", "q"])).toEqual(["p"]);
    expect([a.holds("pipe", "q"), b.holds("pipe", "p")]).toEqual([true, true]);
  } finally {
    vi.useRealTimers();
  }
});

test("a process that starts anew on its data directory leaves what it does not claim again", async () => {
  await of("a").claim("pipe", ["p", "q"]);
  const [again, b] = [of("a"), of("b")];
  await again.claim("pipe", ["q"]);
  await expire();
  await again.renew();
  expect(await b.claim("pipe", ["p", "q"])).toEqual(["p"]);
});

test("nothing is left after the release of everything", async () => {
  const [a, b] = [of("a"), of("b")];
  await a.claim("pipe", ["p"]);
  await a.claim("service", ["s"]);
  await a.releaseAll();
  expect(await b.claim("pipe", ["p"])).toEqual(["p"]);
  expect(await b.claim("service", ["s"])).toEqual(["s"]);
});

test("a task of the installation has one process, and another one after it", async () => {
  const [a, b] = [of("a"), of("b")];
  expect([await isLedHere(a, "t"), await isLedHere(b, "t"), await isLedHere(a, "t")]).toEqual([true, false, true]);
  await a.releaseAll();
  expect([await isLedHere(b, "t"), await isLedHere(a, "t")]).toEqual([true, false]);
});

test("a process without the pipe's lease writes nothing of the pipe", async () => {
  const sealer = new Sealer(Buffer.alloc(32));
  const stores = { organizations: new OrganizationStore(db), services: new ServiceStore(db) };
  const serviceId = await newService(stores);
  const pipeId = await newPipe({ ...stores, pipes: new PipeStore(db, sealer) }, serviceId);
  const leases = of("a");
  const [ledger, pipes, services] = [
    new Ledger(db, leases),
    new PipeStore(db, sealer, leases),
    new ServiceStore(db, leases),
  ];
  const intent = { batchId: "b", lane: "l", intent: {} };
  const done = { batchId: "b", lane: "l", checkpoint: 1, marks: { m: 1 }, counts: { sentRows: 1 } };
  const writes: readonly (() => Promise<unknown>)[] = [
    () => ledger.begin(pipeId, intent),
    () => ledger.confirm(pipeId, done),
    () => ledger.replace(pipeId, "b", []),
    () => ledger.note(pipeId, {}, { sentRows: 1 }),
    // Also without anything to write: sources ask in this way whether the pipe is still theirs.
    () => ledger.note(pipeId, {}, {}),
    () => ledger.forget(pipeId, ["l"], ["m"]),
    () => pipes.setState(pipeId, "Running", null, 1),
    () => pipes.startOver(pipeId, "begun"),
    () => pipes.startPartsOver(pipeId, {}),
    () => pipes.remove(pipeId),
    () => services.setState(serviceId, "running", null),
    () => services.setEngineFacts(serviceId, { databaseVersion: "1" }),
    () => services.remove(serviceId),
  ];
  for (const write of writes) await expect(write()).rejects.toMatchObject(lost);
  await leases.claim("pipe", [pipeId]);
  await leases.claim("service", [serviceId]);
  await expire();
  await of("b").claim("pipe", [pipeId]);
  await of("b").claim("service", [serviceId]);
  for (const write of writes) await expect(write()).rejects.toMatchObject(lost);
  expect(await pipes.counters(pipeId)).toEqual({});
  expect(await ledger.checkpoints(pipeId)).toEqual({});
  expect((await pipes.find(pipeId))?.state).toBe("Provisioning");
});
