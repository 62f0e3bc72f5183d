import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestDatabase } from "../../../harness/stores.ts";
import type { Database } from "./database.ts";
import { type CarryOut, GroupedWrites, type WriteOutcome } from "./grouped-writes.ts";

let folder: string;
let db: Database;
let transactions: number;
let writes: GroupedWrites<number>;

/** Adds rows with these ids; refuses the negative ones. */
const addAll: CarryOut<number> = async (tx, ids) => {
  const before = await tx.get<{ n: number }>("SELECT count(*) AS n FROM seen");
  const outcomes: WriteOutcome[] = [];
  for (const [i, id] of ids.entries()) {
    if (id >= 0) await tx.run("INSERT INTO seen (id, at) VALUES (?, ?)", id, (before?.n ?? 0) + i);
    outcomes.push(id >= 0 ? { value: id } : { error: new Error("negative") });
  }
  return outcomes;
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-grouped-"));
  db = await openTestDatabase(folder);
  await db.run("CREATE TABLE seen (id INTEGER PRIMARY KEY, at INTEGER)");
  transactions = 0;
  const transaction: Database["transaction"] = (body) => {
    transactions += 1;
    return db.transaction(body);
  };
  writes = new GroupedWrites({ ...db, transaction }, addAll);
});
afterEach(async () => {
  await db.close();
  rmSync(folder, { recursive: true });
});

const add = (id: number) => writes.run(id);
const seen = async () => (await db.all<{ id: number }>("SELECT id FROM seen ORDER BY at")).map(({ id }) => id);

test("writes of one turn share a transaction, in their order, and each gets its result when it is durable", async () => {
  const results = [5, 3, 9].map(async (id) => {
    expect(await add(id)).toBe(id);
    expect(await seen()).toEqual([5, 3, 9]);
  });
  await Promise.all(results);
  expect(transactions).toBe(1);
});

test("a write that fails takes no other with it, and only its caller learns of it", async () => {
  await add(1);
  const results = await Promise.allSettled([add(2), add(1), add(3), add(2), add(4)]);
  expect(results.map(({ status }) => status)).toEqual([
    ...["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
  ]);
  expect(await seen()).toEqual([1, 2, 3, 4]);
  expect(transactions).toBe(2);
});

test("a write that is refused takes no other with it", async () => {
  const results = await Promise.allSettled([add(1), add(-1), add(2)]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await seen()).toEqual([1, 2]);
  expect(transactions).toBe(1);
});

test("a single write that fails leaves nothing", async () => {
  writes = new GroupedWrites<number>(db, async (tx, ids) => {
    await addAll(tx, ids);
    throw new Error("no");
  });
  await expect(add(1)).rejects.toThrow("no");
  expect(await seen()).toEqual([]);
});

test("a transaction that was asked for later sees what was asked for before it", async () => {
  const one = add(1);
  const later = db.transaction((tx) => tx.all<{ id: number }>("SELECT id FROM seen"));
  expect(await later).toEqual([{ id: 1 }]);
  await one;
});

test("more writes than fit into one transaction are all carried out, in order", async () => {
  const ids = Array.from({ length: 1_200 }, (_, id) => id);
  await Promise.all(ids.map((id) => add(id)));
  expect(await seen()).toEqual(ids);
  expect(transactions).toBe(3);
});

test("when no transaction can begin, all callers learn of it, and later writes work", async () => {
  let isBroken = true;
  const transaction: Database["transaction"] = (body) =>
    isBroken ? Promise.reject(new Error("disk full")) : db.transaction(body);
  writes = new GroupedWrites({ ...db, transaction }, addAll);
  const results = await Promise.allSettled([add(1), add(2)]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isBroken = false;
  await add(3);
  expect(await seen()).toEqual([3]);
});
