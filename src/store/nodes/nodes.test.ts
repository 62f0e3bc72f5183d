import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestDatabase } from "../../../harness/stores.ts";
import { OrganizationStore } from "../access/organizations.ts";
import type { Database } from "../database/database.ts";
import { fenced, liveNodes, NodeLease, type NodeRole, nodeAddress } from "./nodes.ts";

let dir: string;
let db: Database;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-nodes-"));
  db = await openTestDatabase(dir);
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

const claim = (id: string, role: NodeRole = "server", isExclusive = false) =>
  NodeLease.claim(db, { id, role, version: "1", isExclusive, waitMs: 0 });
const lost = { code: "LEASE_LOST", status: 503 };

test("the next process of a data directory takes over at once, and the one before it changes nothing", async () => {
  const before = await claim("a");
  const stale = fenced(db, before);
  await new OrganizationStore(stale).create("before");
  const after = await claim("a");
  await expect(before.renew()).rejects.toMatchObject(lost);
  await expect(new OrganizationStore(stale).create("after")).rejects.toMatchObject(lost);
  const insert = "INSERT INTO organizations (id, name, created_at) VALUES ('x', 'in a transaction', '')";
  await expect(stale.transaction((tx) => tx.run(insert))).rejects.toMatchObject(lost);
  await new OrganizationStore(fenced(db, after)).create("of the new process");
  const names = (await new OrganizationStore(db).list()).map(({ name }) => name);
  expect(names.sort()).toEqual(["before", "of the new process"]);
});

test("processes on other data directories work side by side, and see each other until they release or expire", async () => {
  const one = await claim("a");
  await claim("b", "worker");
  await one.announce({ address: "http://one:8150", relay: "10.0.0.1:9000" });
  expect(await liveNodes(db)).toEqual([
    { id: "a", role: "server", address: "http://one:8150", relay: "10.0.0.1:9000", slots: 0, takes: {} },
    { id: "b", role: "worker", address: undefined, relay: undefined, slots: 0, takes: {} },
  ]);
  await db.run("UPDATE nodes SET expires_at = 1 WHERE id = 'b'");
  await one.release();
  expect(await liveNodes(db)).toEqual([]);
  expect(await nodeAddress(db, "a")).toBe("http://one:8150");
});

test("a tool waits for all others, and they wait for it", async () => {
  const server = await claim("a");
  await expect(claim("t", "tool")).rejects.toThrow("stop all servers and workers");
  await server.release();
  const tool = await claim("t", "tool");
  await expect(claim("a")).rejects.toThrow("wait until it has ended");
  await expect(claim("w", "worker")).rejects.toThrow("wait until it has ended");
  await tool.release();
  await (await claim("a")).renew();
});

test("who has the database for itself waits for nobody", async () => {
  await claim("a");
  await (await claim("t", "tool", true)).renew();
});
