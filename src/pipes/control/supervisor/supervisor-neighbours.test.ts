/** The supervisor where pipes share worker processes: deaths with neighbours, and what a pass costs with many pipes. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FakeWorker, supervised } from "../../../../harness/supervised-pipe.ts";
import { maxDeaths, stableRunMs } from "../../../lib/task-table.ts";

let s: Awaited<ReturnType<typeof supervised>>;
beforeEach(async () => {
  s = await supervised();
});
afterEach(() => s.close());

test("a pipe whose worker died three times in a row shares no process until it is stopped", async () => {
  const isAlone = async () => {
    await vi.waitFor(async () => {
      await s.pass();
      expect(s.live().length).toBe(2);
    }, 60_000);
    return s.live().map((worker) => worker.isAlone);
  };
  for (const fault of ["unknown", "own", "unknown"] as const) {
    expect(await isAlone()).toEqual([false, false]);
    s.live()[1]?.die("signal SIGKILL", fault);
    await s.until("Degraded", 0);
    s.clock.now += 10_000;
  }
  expect(await isAlone()).toEqual([true, true]);
  // Neither an edit nor a stable run ends it.
  s.clock.now += stableRunMs + 1;
  await s.pass();
  await s.pipes.change(s.id, { scaling: { replicas: 2, concurrency: 2 } });
  await s.pass();
  await s.until("Provisioning", 2);
  expect(await isAlone()).toEqual([true, true]);
  await s.pipes.change(s.id, { desiredState: "stopped" });
  await s.until("Stopped", 0);
  await s.pipes.change(s.id, { desiredState: "running" });
  expect(await isAlone()).toEqual([false, false]);
});

test("deaths by the fault of a neighbour count for nothing: the pipe restarts at once, and never alone", async () => {
  for (let death = 1; death <= 2 * maxDeaths; death += 1) {
    await vi.waitFor(async () => {
      await s.pass();
      expect(s.live().length).toBe(2);
    }, 60_000);
    expect(s.live().some((worker) => worker.isAlone)).toBe(false);
    s.live()[0]?.die("exit code 1", "neighbour");
    await s.until("Degraded", 0);
  }
});

test("workers that must leave their process end, and start again without a death", async () => {
  await s.running();
  const [first] = s.live() as [FakeWorker];
  first.isLeaving = true;
  await s.until("Provisioning", 2);
  expect(first.over).toBe(true);
  expect(s.workers.length).toBe(4);
});

test("a pass reads with two queries, however many pipes there are, and with none while nothing changes", async () => {
  await s.running();
  for (let i = 0; i < 20; i += 1) await s.addPipe(`further ${i}`);
  await vi.waitFor(async () => {
    await s.pass();
    expect(s.live().length).toBe(42);
  }, 60_000);
  for (const worker of s.live()) worker.say({ phase: "running" });
  // The states are written.
  for (let i = 0; i < 5; i += 1) await s.pass();
  s.queries.count = 0;
  await s.pass();
  expect(s.queries.count).toBe(0);
  await s.services.change(s.serviceId, { name: "renamed" });
  s.queries.count = 0;
  await s.pass();
  expect(s.queries.count).toBe(2);
}, 60_000);
