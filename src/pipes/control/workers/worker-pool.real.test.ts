/** The pool with real, confined worker processes: who shares one, and what happens to one that takes too much. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogger } from "../../../lib/logger.ts";
import type { Fault, Tenant, Worker } from "./worker.ts";
import { type Request, WorkerPool } from "./worker-pool.ts";

const dataDir = mkdtempSync(join(tmpdir(), "millrace-pool-"));
let started: Set<Worker>;
let pokes: number;

beforeEach(() => {
  started = new Set();
  pokes = 0;
});
afterEach(async () => {
  for (const worker of started) worker.kill();
  await vi.waitFor(() => expect([...started].every(({ isOver }) => isOver)).toBe(true), { timeout: 30_000 });
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

function poolOf(more: { memoryMb?: number; isShared?: boolean } = {}): WorkerPool {
  const poke = () => {
    pokes += 1;
  };
  return new WorkerPool({
    ...{ dataDir, workers: 1, memoryMb: 4096, isShared: false, logger: createLogger("silent"), poke },
    inboxFolder: () => dataDir,
    ...more,
  });
}

type Ends = { how: string; fault: Fault }[];

function open(pool: WorkerPool, pipeId: string, more: Partial<Request> = {}, ends: Ends = []): Worker {
  const request: Request = {
    ...{ organizationId: "o1", sourceKind: "objectStorage", config: {}, pipeId, name: `${pipeId}-0` },
    ...{ isAlone: false, limits: {} },
    ...more,
  };
  const tenant: Tenant = { pipeId, work: 0, receive: () => {}, ended: (how, fault) => void ends.push({ how, fault }) };
  const { worker } = pool.open(request, tenant);
  started.add(worker);
  return worker;
}

test("pipes of two organizations, of two kinds, and with the machine's credentials never share a process", () => {
  const pool = poolOf();
  const one = open(pool, "a");
  expect(open(pool, "b")).toBe(one);
  const others = [
    open(pool, "c", { organizationId: "o2" }),
    open(pool, "d", { sourceKind: "messageBroker" }),
    open(pool, "e", { config: { authentication: "IAM_ROLE" } }),
    open(pool, "f", { isAlone: true }),
    open(pool, "g", { limits: { memoryGb: 1 } }),
  ];
  expect(new Set([one, ...others]).size).toBe(6);
  expect(pool.views().map(({ pipeIds }) => pipeIds.join())).toEqual(["a,b", "c", "d", "e", "f", "g"]);
  expect(open(pool, "h"), "nobody joins a process of one pipe").toBe(one);
});

test("a process is started for a pipe that is expected, and ends without one", async () => {
  const pool = poolOf();
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const expected = { organizationId: "o1", sourceKind: "objectStorage", config: {} };
  pool.expect(expected);
  pool.expect(expected);
  pool.expect({ ...expected, organizationId: "o2" });
  const pids = pool.views().map(({ pid }) => pid);
  expect(pids).toHaveLength(2);
  expect(open(pool, "a").pid).toBe(pids[0]);
  pool.expect(expected);
  expect(pool.views(), "a further pipe shares the process").toHaveLength(2);
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(pool.views().map(({ pid }) => pid)).toEqual([pids[0]]), { timeout: 30_000 });
}, 60_000);

test("organizations share processes when the operator allows it", () => {
  const pool = poolOf({ isShared: true });
  expect(open(pool, "b", { organizationId: "o2" })).toBe(open(pool, "a"));
  expect(pool.views().map(({ organizationId }) => organizationId)).toEqual([undefined]);
});

test("a process above its memory is left, not within its first minute, and new pipes start elsewhere", async () => {
  const pool = poolOf({ memoryMb: 1 });
  const worker = open(pool, "a");
  await vi.waitFor(() => expect(worker.heardAt).toBeDefined(), { timeout: 30_000 });
  const heardAt = worker.heardAt as number;
  pool.look(worker.startedAt + 55_000);
  expect(worker.isLeaving).toBe(false);
  const before = pokes;
  // Within the time in which silence is normal.
  pool.look(Math.max(worker.startedAt + 60_001, heardAt));
  expect([worker.isLeaving, pokes > before]).toEqual([true, true]);
  expect(open(pool, "b")).not.toBe(worker);
}, 60_000);

test("a process that says nothing for a minute is killed", async () => {
  const pool = poolOf();
  const ends: Ends = [];
  const worker = open(pool, "a", {}, ends);
  open(pool, "b", {}, ends);
  await vi.waitFor(() => expect(worker.heardAt).toBeDefined(), { timeout: 30_000 });
  pool.look((worker.heardAt as number) + 120_000);
  await vi.waitFor(() => expect(ends).toEqual(Array(2).fill({ how: "signal SIGKILL", fault: "unknown" })), {
    timeout: 30_000,
  });
  expect(pool.views()).toEqual([]);
}, 60_000);
