/** The audit trail keeps a bounded number of rows of each organization and type. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestDatabase } from "../../../harness/stores.ts";
import type { Database } from "../database/database.ts";
import { type AuditEvent, AuditEventStore, mostRows } from "./audit-events.ts";

let dir: string;
let db: Database;
let store: AuditEventStore;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "mr-audit-"));
  db = await openTestDatabase(dir);
  store = new AuditEventStore(db);
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

const refused: AuditEvent = {
  ...{ type: "login_refused", organizationId: "o", actorType: "api_key" },
  ...{ actor: "k", address: "192.0.2.1", detail: "wrong secret" },
};
const hour = 3_600_000;
const at = (event: AuditEvent, ms: number, count = 1) => ({ event, count, firstAt: ms, lastAt: ms + 1 });

test("equal events of an hour are one row with their number, those of the next hour another", async () => {
  await store.add([at(refused, 0, 2)]);
  await store.add([at(refused, 1000, 3), at(refused, hour)]);
  expect(await store.list("o", 10)).toMatchObject([
    { count: 1, firstAt: "1970-01-01T01:00:00.000Z" },
    { count: 5, firstAt: "1970-01-01T00:00:00.000Z", lastAt: "1970-01-01T00:00:01.001Z" },
  ]);
  expect(await store.list("other", 10)).toEqual([]);
});

test("many refusals drop the oldest refusals, and nothing else", async () => {
  await store.add([at({ ...refused, type: "login" }, 0)]);
  const guesses = Array.from({ length: mostRows + 300 }, (_, i) => at({ ...refused, actor: `${i}` }, i));
  for (let from = 0; from < guesses.length; from += 500) await store.add(guesses.slice(from, from + 500));
  const kept = await store.list("o", 10_000, "login_refused");
  expect(kept).toHaveLength(mostRows);
  expect([kept[0]?.actor, kept.at(-1)?.actor]).toEqual([`${mostRows + 299}`, "300"]);
  expect(await store.list("o", 10_000, "login")).toHaveLength(1);
});

test("an event of no organization is not kept, and long texts are cut", async () => {
  await store.add([at({ ...refused, organizationId: undefined }, 0), at({ ...refused, serviceId: "gone" }, 0)]);
  await store.add([at({ ...refused, actor: "x".repeat(10_000), detail: "y".repeat(10_000) }, 0)]);
  const rows = await db.all<{ length: number }>("SELECT length(actor) + length(detail) AS length FROM audit_events");
  expect(rows.length).toBe(2);
  expect(Math.max(...rows.map(({ length }) => length))).toBe(700);
});
