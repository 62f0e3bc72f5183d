/** The supervisor against workers that are objects: the test controls every status, death and delay. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Dice } from "../../../../harness/random.ts";
import { supervised } from "../../../../harness/supervised-pipe.ts";
import { maxDeaths, stableRunMs } from "../../../lib/task-table.ts";
import type { WorkerStatus } from "../../protocol.ts";

describe("pipes supervisor", () => {
  let s: Awaited<ReturnType<typeof supervised>>;
  beforeEach(async () => {
    s = await supervised();
  });
  afterEach(() => s.close());

  test("a pipe runs with its replicas; stop ends them; start brings new ones", async () => {
    await s.running();
    expect(s.supervisor.reportOf(s.id)).toEqual({ workers: 2, gauges: { lag: 4 } });
    await s.pipes.change(s.id, { desiredState: "stopped" });
    await s.until("Stopped", 0);
    await s.pass();
    expect(s.workers.length).toBe(2);
    await s.pipes.change(s.id, { desiredState: "running" });
    await s.running();
    expect(s.workers.length).toBe(4);
  });

  test("a worker that dies takes the other with it, and both start again at once with the reason shown", async () => {
    await s.running();
    s.live()[0]?.die("signal SIGKILL");
    await s.until("Degraded", 0);
    expect((await s.shown())?.reason).toBe("the worker ended unexpectedly (signal SIGKILL)");
    await vi.waitFor(async () => {
      await s.pass();
      expect(s.live().length).toBe(2);
    }, 60_000);
    expect((await s.pipes.find(s.id))?.state).toBe("Degraded");
    const [first, second] = s.live().map((worker) => worker.job.replica.run);
    expect(first).toBe(second);
    expect(first).not.toBe(s.workers[0]?.job.replica.run);
  });

  test("a worker that dies again and again ends in InternalError with the reason, and not in a hot loop", async () => {
    for (let death = 1; death <= maxDeaths; death += 1) {
      await vi.waitFor(async () => {
        await s.pass();
        expect(s.live().length).toBe(2);
      }, 60_000);
      expect(s.workers.length).toBe(2 * death);
      s.live()[0]?.die("exit code 1");
      await s.until(death < maxDeaths ? "Degraded" : "InternalError", 0);
      if (death > 1 && death < maxDeaths) {
        for (let i = 0; i < 5; i += 1) await s.pass();
        expect(s.live(), `the pause after death ${death}`).toEqual([]);
      }
      s.clock.now += 30_000;
    }
    const reason = `gave up after ${maxDeaths} attempts; the worker ended unexpectedly (exit code 1)`;
    expect((await s.shown())?.reason).toBe(reason);
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.workers.length).toBe(2 * maxDeaths);
    await s.pipes.change(s.id, { desiredState: "running" });
    await s.running();
  });

  test("deaths are forgiven after a stable run", async () => {
    for (let death = 1; death <= 2 * maxDeaths; death += 1) {
      await vi.waitFor(async () => {
        await s.pass();
        expect(s.live().length).toBe(2);
      }, 60_000);
      s.clock.now += stableRunMs + 1;
      await s.pass();
      s.live()[0]?.die("exit code 1");
      await s.until("Degraded", 0);
    }
  });

  test("a stop that is asked for while workers start is carried out when they have started", async () => {
    const started = s.pass();
    await s.pipes.change(s.id, { desiredState: "stopped" });
    await started;
    await s.until("Stopped", 0);
    expect((await s.pipes.find(s.id))?.desiredState).toBe("stopped");
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.live()).toEqual([]);
  });

  test("a start that is asked for while workers end waits for their end", async () => {
    await s.running();
    const end = Promise.withResolvers<void>();
    s.gate.mayEnd = () => end.promise;
    await s.pipes.change(s.id, { desiredState: "stopped" });
    await s.until("Stopping", 2);
    await s.pipes.change(s.id, { desiredState: "running" });
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.workers.length).toBe(2);
    end.resolve();
    await s.until("Provisioning", 2);
    expect(s.workers.length).toBe(4);
  });

  test("an edit replaces the workers by ones of the new definition", async () => {
    await s.running();
    await s.pipes.change(s.id, { scaling: { replicas: 3 } });
    await s.until("Provisioning", 3);
    expect(s.live().map(({ job }) => job.replica.index)).toEqual([0, 1, 2]);
  });

  test("no workers while the service is stopped, which is told once; new ones when it runs again", async () => {
    await s.running();
    s.live()[0]?.die("the engine is gone");
    await s.services.setDesired(s.serviceId, "stopped");
    await s.until("Stopped", 0);
    await s.services.setState(s.serviceId, "stopping", null);
    for (let i = 0; i < 5; i += 1) await s.pass();
    await s.services.setState(s.serviceId, "stopped", null);
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect((await s.shown())?.reason).toBe("waiting for the service. Current state: stopped");
    expect(s.workers.length).toBe(2);
    const told = await s.db.all("SELECT reason FROM activities WHERE type = 'pipe_stopped'");
    expect(told).toEqual([{ reason: "waiting for the service. Current state: stopped" }]);
    await s.services.setDesired(s.serviceId, "running");
    await s.services.setState(s.serviceId, "running", null);
    await s.running();
  });

  test("an idle service keeps its pipes", async () => {
    await s.running();
    await s.services.setState(s.serviceId, "idle", null);
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect([await s.shown(), s.workers.length, s.live().length]).toEqual([{ state: "Running", reason: null }, 2, 2]);
  });

  test("a pipe that is removed while its worker dies goes with all its workers", async () => {
    await s.running();
    await s.pipes.change(s.id, { desiredState: "deleted" });
    s.live()[0]?.die("signal SIGKILL");
    await s.until(undefined, 0);
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.workers.length).toBe(2);
  });

  test("workers of a pipe whose row is gone end", async () => {
    await s.running();
    await s.pipes.remove(s.id);
    await s.until(undefined, 0);
    expect(s.supervisor.reportOf(s.id)).toBeUndefined();
  });

  test("the outcome of workers is written, and rests until somebody asks again", async () => {
    await s.running();
    s.live()[0]?.say({ phase: "completed" });
    await s.pass();
    expect((await s.shown())?.state).toBe("Running");
    s.live()[1]?.say({ phase: "failed", reason: "the bucket is gone" });
    await s.until("Failed", 0);
    expect((await s.shown())?.reason).toBe("the bucket is gone");
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.workers.length).toBe(2);
    await s.pipes.change(s.id, { desiredState: "running" });
    await s.running();
    for (const worker of s.live()) worker.say({ phase: "completed" });
    await s.until("Completed", 0);
  });

  test("a pipe that starts over ends its workers before anything is forgotten", async () => {
    await s.running();
    await s.pipes.change(s.id, { desiredState: "running", resyncRequested: true });
    await s.until("Provisioning", 2);
    expect(s.live().map(({ job }) => job.epoch)).toEqual([1, 1]);
    expect(s.workers.filter(({ job, over }) => job.epoch === 0 && !over)).toEqual([]);
  });

  test("workers that cannot all be started end, and are tried again after a pause", async () => {
    s.gate.failStarts = 1;
    await vi.waitFor(async () => {
      await s.pass();
      expect(s.workers.filter(({ over }) => over).length).toBe(1);
    }, 60_000);
    for (let i = 0; i < 5; i += 1) await s.pass();
    expect(s.workers.length).toBe(1);
    s.clock.now += 500;
    await s.until("Provisioning", 2);
  });

  test("running workers learn of ports of this server", async () => {
    await s.running();
    s.policy.ownPorts = [7, 8];
    await s.pass();
    expect(s.told.ownPorts).toEqual([[7, 8]]);
  });
});

test("whatever is asked for and whatever dies, workers of two definitions never run side by side", async () => {
  const seed = Date.now() % 2 ** 31;
  const dice = new Dice(seed);
  const s = await supervised();
  const phases: WorkerStatus[] = [
    ...([{ phase: "running" }, { phase: "snapshot" }, { phase: "completed" }] as const),
    ...([
      { phase: "degraded", reason: "slow" },
      { phase: "failed", reason: "lost" },
    ] as const),
  ];
  const events = [
    () => s.pipes.change(s.id, { desiredState: "stopped" }),
    () => s.pipes.change(s.id, { desiredState: "running" }),
    () => s.pipes.change(s.id, { desiredState: "running", resyncRequested: true }),
    () => s.pipes.change(s.id, { scaling: { replicas: 1 + dice.below(3) } }),
    () => s.services.setState(s.serviceId, dice.pick(["running", "idle", "stopped", "failed", "degraded"]), null),
    () => s.live()[dice.below(3)]?.die("signal SIGKILL"),
    () => s.live()[dice.below(3)]?.say(dice.pick(phases)),
    () => {
      s.clock.now += dice.below(40_000);
    },
    () => {
      s.gate.failStarts = dice.below(2);
    },
    s.pass,
    s.pass,
    s.pass,
  ];
  for (let step = 0; step < 250; step += 1) {
    await dice.pick(events)();
    const runs = new Set(s.live().map(({ job }) => job.replica.run));
    expect(runs.size, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(1);
  }
  await s.services.setState(s.serviceId, "running", null);
  await s.pipes.change(s.id, { desiredState: "running", scaling: { replicas: 2 } });
  s.gate.failStarts = 0;
  s.clock.now += 60_000;
  await s.running();
  await s.pipes.change(s.id, { desiredState: "deleted" });
  await s.until(undefined, 0);
  await s.close();
});
