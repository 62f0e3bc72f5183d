import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestDatabase } from "../../../../harness/stores.ts";
import type { Database } from "../../../store/database/database.ts";
import { SharedLeases } from "../../../store/nodes/leases.ts";
import { NodeLease } from "../../../store/nodes/nodes.ts";
import { type PipeReport, PipeReports } from "../../../store/pipes/pipe-reports.ts";
import { SharedReports } from "./reports.ts";

let dir: string;
let db: Database;
const clock = { now: 0 };
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-reports-"));
  db = await openTestDatabase(dir);
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

/** A process with what it knows of pipes. */
async function processOf(id: string, known: Record<string, PipeReport>) {
  await NodeLease.claim(db, { id, role: "server", version: "1", isExclusive: false });
  const leases = new SharedLeases({ db, nodeId: id });
  await leases.claim("pipe", Object.keys(known));
  const reports = new SharedReports({
    reports: new PipeReports(db),
    leases,
    ownIds: () => Object.keys(known),
    own: (pipeId) => known[pipeId] ?? { workers: 0, gauges: {} },
    now: () => clock.now,
  });
  const pass = async () => {
    clock.now += 5_000;
    await reports.pass();
  };
  return { leases, known, reports, pass };
}

test("each process knows what the others say of their pipes, until they are gone", async () => {
  const one = await processOf("a", { p: { workers: 2, gauges: { lagRows: 7 } } });
  await one.pass();
  expect(await db.all("SELECT * FROM pipe_reports"), "nobody else is there").toEqual([]);
  const other = await processOf("b", { q: { workers: 0, gauges: {}, warning: "the slot is in danger" } });
  await one.pass();
  await other.pass();
  await one.pass();
  expect(other.reports.of("p")).toEqual({ workers: 2, gauges: { lagRows: 7 } });
  expect(one.reports.of("q")).toEqual({ workers: 0, gauges: {}, warning: "the slot is in danger" });
  expect(Object.fromEntries(other.reports.all())).toMatchObject({ p: { workers: 2 }, q: { workers: 0 } });
  one.known.p = { workers: 1, gauges: {} };
  await one.pass();
  await other.pass();
  expect(other.reports.of("p")).toEqual({ workers: 1, gauges: {} });
  await db.run("UPDATE nodes SET expires_at = 1 WHERE id = 'a'");
  await other.pass();
  expect(other.reports.of("p")).toEqual({ workers: 0, gauges: {} });
});

test("what a process says of a pipe that it has lost counts no longer", async () => {
  const one = await processOf("a", { p: { workers: 2, gauges: {} } });
  const other = await processOf("b", {});
  await one.pass();
  await other.pass();
  expect(other.reports.of("p").workers).toBe(2);
  await one.leases.release("pipe", ["p"]);
  await one.pass();
  await other.pass();
  expect(other.reports.of("p").workers).toBe(0);
});
