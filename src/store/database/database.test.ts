import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isOnPostgres, openTestDatabase } from "../../../harness/stores.ts";
import { type Database, openDatabase } from "./database.ts";

let dir: string;
let db: Database;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-database-"));
  db = await openTestDatabase(dir);
  await db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)");
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

test.skipIf(isOnPostgres())(
  "its files are for their user alone, also those that were there with another mode",
  async () => {
    const modes = () => readdirSync(dir).map((name) => [name, (statSync(join(dir, name)).mode & 0o777).toString(8)]);
    expect(new Set(modes().map(([, mode]) => mode))).toEqual(new Set(["600"]));
    expect(modes().map(([name]) => name)).toContain("millrace.db-wal");
    await db.close();
    for (const name of readdirSync(dir)) chmodSync(join(dir, name), 0o644);
    db = openDatabase(join(dir, "millrace.db"));
    await db.run("INSERT INTO t (v) VALUES ('x')");
    expect(new Set(modes().map(([, mode]) => mode))).toEqual(new Set(["600"]));
  },
);

const all = "SELECT v FROM t ORDER BY id";

test("a read that begins after a write sees it, however often the same was read before", async () => {
  for (let i = 1; i <= 50; i += 1) {
    await db.run("INSERT INTO t (id, v) VALUES (?, ?)", i, `v${i}`);
    expect(await db.all(all)).toHaveLength(i);
    expect(await db.get("SELECT v FROM t WHERE id = ?", i)).toEqual({ v: `v${i}` });
    expect(await db.get("SELECT v FROM t WHERE id = ?", i + 1)).toBeUndefined();
  }
  await db.transaction(async (tx) => {
    await tx.run("DELETE FROM t WHERE id > 1");
    // Not yet committed: other readers still see the old rows.
    expect(await db.all(all)).toHaveLength(50);
    expect(await tx.all(all)).toHaveLength(1);
  });
  expect(await db.all(all)).toHaveLength(1);
});

test("reads that run beside writes never see less than a write that was done before", async () => {
  let done = 0;
  const writes = (async () => {
    for (let i = 1; i <= 200; i += 1) {
      await db.run("INSERT INTO t (id, v) VALUES (?, 'x')", i);
      done = i;
    }
  })();
  while (done < 200) {
    const before = done;
    expect((await db.get<{ n: number }>("SELECT count(*) AS n FROM t"))?.n).toBeGreaterThanOrEqual(before);
    await new Promise((next) => setImmediate(next));
  }
  await writes;
});

test("what was rolled back is not seen", async () => {
  await db.run("INSERT INTO t (id, v) VALUES (1, 'kept')");
  const failed = db.transaction(async (tx) => {
    await tx.run("UPDATE t SET v = 'lost'");
    throw new Error("no");
  });
  await expect(failed).rejects.toThrow("no");
  expect(await db.all(all)).toEqual([{ v: "kept" }]);
});

test("every write raises the revision, once it can be read and before it resolves", async () => {
  const writes = () => db.revision() - db.othersRevision();
  let revision = writes();
  const raised = async (write: Promise<unknown>) => {
    await write.catch(() => {});
    expect(writes()).toBeGreaterThan(revision);
    revision = writes();
  };
  await raised(db.run("INSERT INTO t (id, v) VALUES (1, 'a')"));
  await raised(db.run("CREATE TABLE other (id INTEGER)"));
  await raised(
    db.transaction(async (tx) => {
      await tx.run("INSERT INTO t (id, v) VALUES (2, 'b')");
      await new Promise((next) => setImmediate(next));
      // Other readers still see the old rows, so its revision holds.
      expect(writes()).toBe(revision);
      expect(await db.all(all)).toHaveLength(1);
    }),
  );
  await db.all(all);
  expect(writes()).toBe(revision);
});

test.skipIf(isOnPostgres())("values keep their types as parameters", async () => {
  const kinds = await db.get(
    "SELECT typeof(?) AS a, typeof(?) AS b, typeof(?) AS c, typeof(?) AS d",
    1n,
    "1",
    null,
    1.5,
  );
  expect(kinds).toEqual({ a: "integer", b: "text", c: "null", d: "real" });
});

test("a statement that cannot run rejects, each time", async () => {
  for (let i = 0; i < 2; i += 1) {
    const asked = db.all("SELECT nothing FROM t");
    await expect(asked).rejects.toThrow("nothing");
  }
});

test.skipIf(isOnPostgres())("a full disk is the error of a write, and what reads show until one works", async () => {
  const fill = async () =>
    await db.transaction(async (tx) => {
      for (let i = 0; i < 100; i += 1) await tx.run("INSERT INTO t (v) VALUES (?)", "x".repeat(10_000));
    });
  await db.run("PRAGMA max_page_count = 20");
  const revision = db.revision();
  const full = { code: "DISK_FULL", status: 507, message: "The disk of the data directory is full." };
  await expect(fill()).rejects.toMatchObject(full);
  expect(db.problem()).toBe(full.message);
  expect(db.revision()).toBeGreaterThan(revision);
  await expect(db.run("INSERT INTO t (v) VALUES (?)", "x".repeat(100_000))).rejects.toMatchObject(full);
  // Neither what changes nothing nor other failures say anything about the disk.
  await db.run("UPDATE t SET v = '' WHERE id = -1");
  await expect(db.run("INSERT INTO nowhere VALUES (1)")).rejects.toThrow("nowhere");
  expect(db.problem()).toBe(full.message);
  await db.run("PRAGMA max_page_count = 1000000");
  await fill();
  expect(db.problem()).toBeUndefined();
  expect(await db.all("SELECT id FROM t")).toHaveLength(100);
});
