import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestDatabase } from "../../harness/stores.ts";
import type { Database } from "./database.ts";
import { fenced, ServerLease } from "./leases.ts";
import { OrganizationStore } from "./organizations.ts";

let dir: string;
let db: Database;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-leases-"));
  db = await openTestDatabase(dir);
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

const claim = (holder: string, isExclusive = false) => ServerLease.claim(db, { holder, isExclusive, waitMs: 0 });
const expire = () => db.run("UPDATE leases SET expires_at = 0");
const names = async () => (await new OrganizationStore(db).list()).map(({ name }) => name);
const lost = { code: "LEASE_LOST", status: 503 };

test("one server has the lease until it releases it, or renews it no more", async () => {
  const first = await claim("a");
  await expect(claim("b")).rejects.toThrow("another server uses this metadata database");
  await first.release();
  const second = await claim("b");
  await expect(claim("a")).rejects.toThrow("another server");
  await expire();
  await second.renew();
  await expect(claim("a")).rejects.toThrow("another server");
  await expire();
  await claim("a");
  await expect(second.renew()).rejects.toMatchObject(lost);
});

test("a server that has lost the lease changes nothing, whichever way it writes", async () => {
  const stale = fenced(db, await claim("a"));
  await new OrganizationStore(stale).create("before");
  await expire();
  const current = fenced(db, await claim("b"));
  await expect(new OrganizationStore(stale).create("after")).rejects.toMatchObject(lost);
  const insert = "INSERT INTO organizations (id, name, created_at) VALUES ('x', 'in a transaction', '')";
  await expect(stale.transaction((tx) => tx.run(insert))).rejects.toMatchObject(lost);
  expect(await names()).toEqual(["before"]);
  await new OrganizationStore(current).create("of the new holder");
  expect(await names()).toHaveLength(2);
});

test("the next process of a data directory takes over at once, and the one before it has lost", async () => {
  const before = await claim("a");
  const after = await claim("a");
  await expect(before.renew()).rejects.toMatchObject(lost);
  await after.renew();
  // The release of a lease that was lost ends no other one.
  await before.release();
  await expect(claim("b")).rejects.toThrow("another server");
});

test("who has a database for itself does not wait for a lease", async () => {
  await claim("a");
  await (await claim("b", true)).renew();
});

test("holds end with the server that made them", async () => {
  await claim("a");
  await db.run("INSERT INTO pipe_holds (hold_id, pipe_id, expires_at) VALUES ('h', 'p', 9999999999999)");
  await claim("a");
  expect(await db.all("SELECT * FROM pipe_holds")).toEqual([]);
});
