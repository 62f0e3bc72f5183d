import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestStores } from "../../../harness/stores.ts";
import type { Stores } from "../open.ts";
import { ConsoleSessionStore } from "./console-sessions.ts";

const minute = 60_000;
const hour = 60 * minute;
let dir: string;
let stores: Stores;
let now = 0;
let sessions: ConsoleSessionStore;
let keyId: string;
let organizationId: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-sessions-"));
  stores = await openTestStores(dir);
  now = Date.parse("2026-01-01T00:00:00Z");
  sessions = new ConsoleSessionStore(stores.db, () => now);
  ({ id: organizationId } = await stores.organizations.create("Test"));
  const { key } = await stores.credentials.createKey({
    ...{ organizationId, name: "k", role: "admin", state: "enabled", expireAt: null },
  });
  keyId = key.id;
});
afterEach(async () => {
  await stores.close();
  rmSync(dir, { recursive: true, force: true });
});

test("a session ends twelve hours after its last use", async () => {
  const { value } = await sessions.create(keyId, "Browser");
  now += 11 * hour;
  const session = await sessions.findByValue(value);
  expect(session).toMatchObject({ keyId, userAgent: "Browser" });
  if (session !== undefined) await sessions.markSeen(session);
  now += 11 * hour;
  expect(await sessions.findByValue(value)).toBeDefined();
  now += hour + 1;
  expect(await sessions.findByValue(value)).toBeUndefined();
  expect(await sessions.list(organizationId)).toEqual([]);
});

test("a session ends seven days after its beginning, however often it is used", async () => {
  const { value } = await sessions.create(keyId, "");
  for (let hours = 0; hours < 7 * 24; hours += 6) {
    const session = await sessions.findByValue(value);
    expect(session).toBeDefined();
    if (session !== undefined) await sessions.markSeen(session);
    now += 6 * hour;
  }
  expect(await sessions.findByValue(value)).toBeUndefined();
});

test("its use is written once a minute", async () => {
  const { value } = await sessions.create(keyId, "");
  now += minute;
  const seen = async () => {
    const session = await sessions.findByValue(value);
    if (session !== undefined) await sessions.markSeen(session);
  };
  await seen();
  const writes = () => stores.db.revision() - stores.db.othersRevision();
  const before = writes();
  now += minute - 1;
  await seen();
  expect(writes()).toBe(before);
});

test("a link is valid for ten minutes and once", async () => {
  const { token } = await sessions.createLink(keyId);
  const late = await sessions.createLink(keyId);
  expect(await sessions.useLink(token)).toBe(keyId);
  expect(await sessions.useLink(token)).toBeUndefined();
  now += 10 * minute;
  expect(await sessions.useLink(late.token)).toBeUndefined();
});

test("of two uses of one link at the same time, one succeeds", async () => {
  const { token } = await sessions.createLink(keyId);
  const uses = await Promise.all([sessions.useLink(token), sessions.useLink(token)]);
  expect(uses.filter((used) => used === keyId)).toHaveLength(1);
});

test("a key has a bounded number of sessions and links, and the oldest make room", async () => {
  const first = await sessions.create(keyId, "first");
  const firstLink = await sessions.createLink(keyId);
  for (let i = 0; i < 100; i += 1) {
    now += 1;
    await sessions.create(keyId, "");
    await sessions.createLink(keyId);
  }
  expect(await sessions.list(organizationId)).toHaveLength(100);
  expect(await sessions.findByValue(first.value)).toBeUndefined();
  expect(await sessions.useLink(firstLink.token)).toBeUndefined();
});
