/** Writes of many pipes in one group: what each of them would have written alone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPipe, newService } from "../../../harness/new-pipe.ts";
import { openTestStores } from "../../../harness/stores.ts";
import { allLeases, type Leases } from "../nodes/leases.ts";
import type { Stores } from "../open.ts";
import { Ledger } from "./ledger.ts";

const pipeCount = 70;
const lanes = ["k", "l"] as const;

let dir: string;
let stores: Stores;
let ledger: Ledger;
let pipeIds: string[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-writes-"));
  stores = await openTestStores(dir);
  const serviceId = await newService(stores);
  pipeIds = await Promise.all(Array.from({ length: pipeCount }, () => newPipe(stores, serviceId)));
  ledger = new Ledger(stores.db);
});
afterEach(async () => {
  await stores.close();
  rmSync(dir, { recursive: true, force: true });
});

const batchOf = (lane: string) => `batch ${lane}`;
const begin = (pipeId: string, lane: string, on = ledger) =>
  on.begin(pipeId, { batchId: batchOf(lane), lane, intent: { of: pipeId } });
const confirm = (pipeId: string, lane: string, on = ledger) =>
  on.confirm(pipeId, {
    ...{ batchId: batchOf(lane), lane, checkpoint: { at: lane }, marks: { [`mark ${lane}`]: lane, last: lane } },
    counts: { sentRows: 2, sentBytes: 20, [`of ${lane}`]: 1 },
  });
/** All at once, so that they share transactions and statements. */
const all = (work: (pipeId: string, lane: string) => Promise<void>, pipes: readonly string[] = pipeIds) =>
  Promise.allSettled(pipes.flatMap((pipeId) => lanes.map((lane) => work(pipeId, lane))));
const reasonsOf = (results: readonly PromiseSettledResult<void>[]) =>
  results.map((result) => (result.status === "rejected" ? (result.reason.code ?? "refused") : "done"));
const batches = (pipeId: string) => stores.batches.list(pipeId, 10);

async function expectConfirmed(pipeId: string): Promise<void> {
  expect(await ledger.intents(pipeId)).toEqual([]);
  expect(await ledger.checkpoints(pipeId)).toEqual({ k: { at: "k" }, l: { at: "l" } });
  expect(await ledger.marks(pipeId, ["mark k", "mark l", "last"])).toEqual({ "mark k": "k", "mark l": "l", last: "l" });
  expect(await stores.pipes.counters(pipeId)).toEqual({ sentRows: 4, sentBytes: 40, "of k": 1, "of l": 1 });
  expect((await batches(pipeId)).map(({ batchId, rows }) => [batchId, rows])).toEqual([
    ["batch l", 2],
    ["batch k", 2],
  ]);
}

test("batches of many pipes and lanes begin and are confirmed together", async () => {
  expect(new Set(reasonsOf(await all(begin)))).toEqual(new Set(["done"]));
  for (const pipeId of pipeIds.slice(0, 3)) {
    const saved = lanes.map((lane) => ({ batchId: batchOf(lane), lane, intent: { of: pipeId } }));
    expect(await ledger.intents(pipeId)).toEqual(saved);
  }
  expect(new Set(reasonsOf(await all(confirm)))).toEqual(new Set(["done"]));
  for (const pipeId of pipeIds) await expectConfirmed(pipeId);
});

test("intents keep the order in which they began, over several groups, and one that is there stays", async () => {
  const [pipeId] = pipeIds as [string];
  const ids = Array.from({ length: 150 }, (_, i) => `b${(i * 37) % 150}`);
  const beginAll = (part: readonly string[], to: string) =>
    Promise.all(part.map((batchId) => ledger.begin(pipeId, { batchId, lane: "l", intent: { to } })));
  await beginAll(ids.slice(0, 90), "first");
  await beginAll(ids.slice(60), "second");
  const found = await ledger.intents(pipeId);
  expect(found.map(({ batchId }) => batchId)).toEqual(ids);
  expect(found.findLastIndex(({ intent }) => intent.to === "first")).toBe(89);
});

test("of marks of one name in a group the last one stays, and counts add up", async () => {
  const [one, other] = pipeIds as [string, string];
  await Promise.all([
    ledger.note(one, { a: 1, b: 1 }, { n: 1 }),
    ledger.note(other, { a: "other" }, { n: 10 }),
    ledger.note(one, { a: 2 }, { n: 2 }),
  ]);
  expect(await ledger.marks(one, ["a", "b"])).toEqual({ a: 2, b: 1 });
  expect(await ledger.marks(other, ["a", "b"])).toEqual({ a: "other" });
  expect([await stores.pipes.counters(one), await stores.pipes.counters(other)]).toEqual([{ n: 3 }, { n: 10 }]);
});

test("a pipe that is held begins nothing, and its neighbours in the group do", async () => {
  const [held, ...others] = pipeIds as [string, ...string[]];
  const hold = await ledger.hold([held]);
  const waiting = begin(held, "l");
  await Promise.all(others.map((pipeId) => begin(pipeId, "l")));
  expect(await ledger.intents(held)).toEqual([]);
  expect((await ledger.intents(others[0] as string)).length).toBe(1);
  await hold.release();
  await waiting;
  expect((await ledger.intents(held)).length).toBe(1);
});

test("a batch of a worker that has ended meanwhile is not begun, and its neighbours are", async () => {
  const [gone, other] = pipeIds as [string, string];
  const ended = new AbortController();
  const begun = [gone, other].map((pipeId) =>
    ledger.begin(pipeId, { batchId: "b", lane: "l", intent: {} }, pipeId === gone ? ended.signal : undefined),
  );
  // After the request, and before its transaction.
  ended.abort();
  expect((await Promise.allSettled(begun)).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect([(await ledger.intents(gone)).length, (await ledger.intents(other)).length]).toEqual([0, 1]);
});

test("intents are read after the batches whose begin was requested before", async () => {
  const [pipeId] = pipeIds as [string];
  const beginning = begin(pipeId, "l");
  expect((await ledger.intents(pipeId)).length).toBe(1);
  await beginning;
});

test("a deleted pipe fails alone", async () => {
  const [gone, ...others] = pipeIds as [string, ...string[]];
  await stores.pipes.remove(gone);
  const begun = await all(begin);
  expect(reasonsOf(begun).filter((reason) => reason !== "done").length).toBe(lanes.length);
  expect(begun.slice(0, lanes.length).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await all(confirm, others);
  for (const pipeId of others) await expectConfirmed(pipeId);
});

test("a pipe whose lease another process has taken is refused alone, for every kind of write", async () => {
  const takenOver = 1;
  const fenceOf = async (pipeId: string, fence: number) =>
    await stores.db.run(
      `INSERT INTO leases (kind, id, holder, fence, expires_at) VALUES ('pipe', ?, 'me', ?, 0)
       ON CONFLICT (kind, id) DO UPDATE SET fence = excluded.fence`,
      ...[pipeId, fence],
    );
  for (const pipeId of pipeIds) await fenceOf(pipeId, 1);
  const leases: Leases = {
    ...allLeases("me"),
    lost: async (tx, _kind, ids) => {
      const rows = await tx.all<{ id: string }>(
        `SELECT id FROM leases WHERE kind = 'pipe' AND fence = 1 AND id IN (${ids.map(() => "?").join(", ")}) FOR SHARE`,
        ...ids,
      );
      const held = new Set(rows.map(({ id }) => id));
      return new Set(ids.filter((id) => !held.has(id)));
    },
  };
  const fenced = new Ledger(stores.db, leases);
  const stale = pipeIds[takenOver] as string;
  await all((pipeId, lane) => begin(pipeId, lane, fenced));
  await fenceOf(stale, 2);
  const confirmed = await all((pipeId, lane) => confirm(pipeId, lane, fenced));
  const isStale = (at: number) => Math.floor(at / lanes.length) === takenOver;
  expect(reasonsOf(confirmed)).toEqual(confirmed.map((_, at) => (isStale(at) ? "LEASE_LOST" : "done")));
  for (const pipeId of pipeIds) if (pipeId !== stale) await expectConfirmed(pipeId);
  expect((await ledger.intents(stale)).length).toBe(lanes.length);
  expect([await ledger.checkpoints(stale), await stores.pipes.counters(stale)]).toEqual([{}, {}]);
  const later = await Promise.allSettled([
    fenced.note(stale, { a: 1 }, { n: 1 }),
    fenced.begin(stale, { batchId: "later", lane: "l", intent: {} }),
    fenced.note(pipeIds[0] as string, { a: 1 }, { n: 1 }),
  ]);
  expect(reasonsOf(later)).toEqual(["LEASE_LOST", "LEASE_LOST", "done"]);
  expect(await ledger.marks(stale, ["a"])).toEqual({});
});
