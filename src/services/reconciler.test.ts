/** The reconciler against a runtime whose engines are promises: the test controls every death and delay. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { reconciledService } from "../../harness/reconciled-service.ts";
import { AppError } from "../lib/errors.ts";
import { maxDeaths } from "../lib/task-table.ts";
import { allLeases } from "../store/nodes/leases.ts";
import { ServiceAccess } from "./access.ts";
import type { RunningEngine } from "./runtime.ts";

describe("services reconciler", () => {
  let s: Awaited<ReturnType<typeof reconciledService>>;
  beforeEach(async () => {
    s = await reconciledService();
  });
  afterEach(() => s.close());
  const signal = new AbortController().signal;

  test("a created service runs; stop ends its engine; start brings it back", async () => {
    await s.until("running");
    expect(await s.services.find(s.id)).toMatchObject({ databaseVersion: "1.2" });
    await s.services.setDesired(s.id, "stopped");
    await s.until("stopped");
    expect(s.runtime.live).toBe(0);
    await expect(s.access.acquire(s.id, signal)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    await s.services.setDesired(s.id, "running");
    await s.until("running");
  });

  test("a running engine learns of a new quota of disk, and keeps running", async () => {
    await s.until("running");
    await s.services.change(s.id, { diskGb: 2 });
    await s.reconciler.pass();
    await vi.waitFor(() => expect(s.runtime.diskLimit).toBe(2 ** 31), 60_000);
    await s.services.change(s.id, { diskGb: null });
    await s.reconciler.pass();
    await vi.waitFor(() => expect(s.runtime.diskLimit).toBeUndefined(), 60_000);
    expect(s.runtime.starts).toBe(1);
  });

  test("an engine that was started with other users or less memory is started anew when nothing has run for a while", async () => {
    await s.until("running");
    s.runtime.isCurrent = false;
    const lease = await s.access.acquire(s.id, signal);
    for (let i = 0; i < 3; i += 1) await s.reconciler.pass();
    expect(s.runtime.starts).toBe(1);
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      vi.advanceTimersByTime(60_000);
      for (let i = 0; i < 3; i += 1) await s.reconciler.pass();
      expect(s.runtime.starts).toBe(1);
      lease.release();
      vi.advanceTimersByTime(60_000);
      await s.reconciler.pass();
      await vi.waitFor(() => expect(s.runtime.starts).toBe(2), 60_000);
    } finally {
      vi.useRealTimers();
    }
    await s.until("running");
    expect(s.runtime.live).toBe(1);
  });

  test("an engine that does not know the rights of users is replaced at once, and later queries wait for the next one", async () => {
    await s.until("running");
    const engine = s.access.engines().get(s.id) as RunningEngine;
    s.runtime.knowsRights = false;
    await s.reconciler.pass();
    expect(s.runtime.starts).toBe(1);
    s.access.rightsChanged(s.id);
    await s.reconciler.pass();
    await s.access.withdrawn(s.id, engine, 60_000);
    const waiting = s.access.acquire(s.id, signal);
    (await waiting).release();
    expect(s.runtime.starts).toBe(2);
    await s.until("running");
    expect([s.access.mayBeOutdated(s.id), s.runtime.starts, s.runtime.live]).toEqual([false, 2, 1]);
  });

  test("an engine that dies is started again at once, and a waiting query gets the new one", async () => {
    await s.until("running");
    s.runtime.die("signal SIGKILL");
    await vi.waitFor(async () => expect(await s.state()).toBe("degraded"), 60_000);
    expect((await s.services.find(s.id))?.stateMessage).toContain("signal SIGKILL");
    const lease = s.access.acquire(s.id, signal);
    await s.until("running");
    expect((await lease).forwardAddress.port).toBe(2);
    expect(s.runtime.live).toBe(1);
  });

  test("an engine that keeps dying ends in failed with the reason, not in a hot loop; start tries again", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      s.runtime.failStarts = maxDeaths;
      await vi.waitFor(
        async () => {
          vi.advanceTimersByTime(60_000);
          await s.reconciler.pass();
          expect(await s.state()).toBe("failed");
        },
        { timeout: 60_000, interval: 5 },
      );
      expect(s.runtime.starts).toBe(maxDeaths);
      expect((await s.services.find(s.id))?.stateMessage).toBe(
        `gave up after ${maxDeaths} attempts; the engine did not start: no such binary`,
      );
      for (let i = 0; i < 5; i += 1) await s.reconciler.pass();
      expect(s.runtime.starts).toBe(maxDeaths);
      await expect(s.access.acquire(s.id, signal)).rejects.toThrow(/failed.*no such binary/);
      await s.services.requestWake(s.id);
      s.runtime.failStarts = 3;
      await vi.waitFor(
        async () => {
          vi.advanceTimersByTime(60_000);
          await s.reconciler.pass();
          expect(await s.state()).toBe("running");
        },
        { timeout: 60_000, interval: 5 },
      );
      // The request excuses the deaths before it, not those after it.
      expect(s.runtime.starts).toBe(maxDeaths + 4);
      s.runtime.failStarts = 100;
      s.runtime.die("again");
      await vi.waitFor(
        async () => {
          vi.advanceTimersByTime(59_000);
          await s.reconciler.pass();
          expect(await s.state()).toBe("failed");
        },
        { timeout: 60_000, interval: 5 },
      );
    } finally {
      vi.useRealTimers();
    }
  });

  test("an engine that statements end again and again comes back each time, within seconds", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      for (let i = 0; i < 2 * maxDeaths; i += 1) {
        await s.until("running");
        s.runtime.die("signal SIGSEGV");
        await vi.waitFor(async () => expect(await s.state()).toBe("degraded"), 60_000);
        vi.advanceTimersByTime(7_000);
        await s.reconciler.pass();
      }
      await s.until("running");
      expect(s.runtime.starts).toBe(2 * maxDeaths + 1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a service whose backup is damaged is failed after one attempt; start tries again", async () => {
    s.runtime.failure = new AppError("BACKUP_UNUSABLE", "The backup is damaged: data.bin is missing");
    s.runtime.failStarts = 1;
    await s.until("failed");
    expect((await s.services.find(s.id))?.stateMessage).toBe("The backup is damaged: data.bin is missing");
    for (let i = 0; i < 5; i += 1) await s.reconciler.pass();
    expect(s.runtime.starts).toBe(1);
    await s.services.requestWake(s.id);
    await s.until("running");
    expect(s.runtime.starts).toBe(2);
  });

  test("deaths are followed by growing pauses", async () => {
    // The time stands still, so that the number of attempts does not depend on the machine.
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      s.runtime.failStarts = 100;
      for (let i = 0; i < 50; i += 1) {
        await s.reconciler.pass();
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(s.runtime.starts).toBeLessThanOrEqual(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a new control plane starts what was running and leaves idle what was idle", async () => {
    await s.until("running");
    await s.services.setState(s.id, "idle", null);
    await s.make().pass();
    expect(s.runtime.starts).toBe(1);
    await s.services.setState(s.id, "running", null);
    const second = s.make();
    await vi.waitFor(async () => {
      await second.pass();
      expect(s.runtime.starts).toBe(2);
    }, 60_000);
  });

  test("what runs without this program ends with a stop, also of an unknown engine, and not with the program", async () => {
    await s.until("running");
    await s.reconciler.close();
    expect(s.runtime.halts).toEqual([]);
    await s.services.setDesired(s.id, "stopped");
    const second = s.make();
    await vi.waitFor(async () => {
      await second.pass();
      expect(await s.state()).toBe("stopped");
    }, 60_000);
    expect(s.runtime.halts).toEqual([s.id]);
  });

  test("a stop that lasts says why, ends with another command, and holds up no end of the program", async () => {
    await s.until("running");
    s.runtime.haltsForever = true;
    await s.services.setDesired(s.id, "stopped");
    await s.until("stopping");
    await vi.waitFor(async () => {
      expect((await s.services.find(s.id))?.stateMessage).toBe("waits for the pods");
    }, 60_000);
    await s.services.setDesired(s.id, "running");
    await s.until("running");
    await s.services.setDesired(s.id, "stopped");
    await s.until("stopping");
    await s.reconciler.close();
    expect(await s.state()).toBe("stopping");
  });

  test("delete ends the engine, removes data and rows", async () => {
    await s.until("running");
    await s.services.setDesired(s.id, "deleted");
    await s.until(undefined);
    expect([s.runtime.live, s.runtime.removed]).toEqual([0, [s.id]]);
    await expect(s.access.acquire(s.id, signal)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });
});

describe("idling", () => {
  const signal = new AbortController().signal;

  test("no query for the timeout idles the service; a lease in hand prevents it; a query wakes it", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    const s = await reconciledService(60_000);
    const minutes = (count: number) => vi.advanceTimersByTime(count * 60_000);
    await s.until("running");
    const lease = await s.access.acquire(s.id, signal);
    minutes(6);
    await s.reconciler.pass();
    expect(await s.state()).toBe("running");
    lease.release();
    minutes(4);
    await s.reconciler.pass();
    expect(await s.state()).toBe("running");
    minutes(1);
    await s.until("idle");
    expect(s.runtime.live).toBe(0);
    const woken = s.access.acquire(s.id, signal);
    await vi.waitFor(async () => {
      await s.reconciler.pass();
      expect(s.runtime.live).toBe(1);
    }, 60_000);
    expect((await woken).forwardAddress.port).toBe(2);
    await s.close();
    vi.useRealTimers();
  });

  test("a query that arrives while what ran is being ended wakes the service at once", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    const s = await reconciledService(60_000);
    await s.until("running");
    s.runtime.haltsForever = true;
    vi.advanceTimersByTime(6 * 60_000);
    await s.until("stopping");
    const woken = s.access.acquire(s.id, signal);
    await s.until("running");
    expect((await woken).forwardAddress.port).toBe(2);
    await s.close();
    vi.useRealTimers();
  });

  test("use through another process, which only connects, keeps the service awake", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    const s = await reconciledService(60_000);
    await s.until("running");
    // As a server that no process of ours runs.
    await s.db.run("UPDATE services SET runtime = 'kubernetes' WHERE id = ?", s.id);
    const { services } = s;
    const access = new ServiceAccess(services);
    const leases = { ...allLeases("other"), holds: () => false, free: async () => [] };
    const other = s.make({ access, leases });
    await other.pass();
    const lease = await access.acquire(s.id, signal);
    expect([s.runtime.starts, s.runtime.connects]).toEqual([1, 1]);
    vi.advanceTimersByTime(6 * 60_000);
    await other.pass();
    for (let i = 0; i < 30; i += 1) {
      await s.reconciler.pass();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await s.state()).toBe("running");
    lease.release();
    vi.advanceTimersByTime(6 * 60_000);
    await s.until("idle");
    await s.close();
    vi.useRealTimers();
  });

  test("a clock that is set back keeps no service awake", async () => {
    const s = await reconciledService(60_000);
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: Date.now() + 3_600_000 });
    await s.until("running");
    (await s.access.acquire(s.id, signal)).release();
    vi.setSystemTime(Date.now() - 3_600_000);
    await s.reconciler.pass();
    vi.advanceTimersByTime(6 * 60_000);
    await s.until("idle");
    await s.close();
    vi.useRealTimers();
  });

  test("another process connects to pods when they run, and to an external server at any time", async () => {
    const s = await reconciledService();
    await s.until("running");
    await s.db.run("UPDATE services SET runtime = 'kubernetes' WHERE id = ?", s.id);
    await s.services.setState(s.id, "awaking", null);
    const leases = { ...allLeases("other"), holds: () => false, free: async () => [] };
    const other = s.make({ access: new ServiceAccess(s.services), leases });
    await other.pass();
    await other.pass();
    expect(s.runtime.connects).toBe(0);
    await s.db.run("UPDATE services SET runtime = 'external' WHERE id = ?", s.id);
    await vi.waitFor(async () => {
      await other.pass();
      expect(s.runtime.connects).toBe(1);
    }, 60_000);
    await s.close();
  });

  test("a caller that goes away stops waiting", async () => {
    const s = await reconciledService();
    await s.services.setState(s.id, "idle", null);
    const gone = new AbortController();
    const waiting = s.access.acquire(s.id, gone.signal);
    gone.abort(new Error("client left"));
    await expect(waiting).rejects.toThrow("client left");
    await s.close();
  });
});
