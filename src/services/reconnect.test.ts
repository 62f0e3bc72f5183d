/** The connection to a service in a cluster is replaced: the test controls when the next one is there. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { reconciledService } from "../../harness/reconciled-service.ts";

describe("a connection to pods that is not current", () => {
  let s: Awaited<ReturnType<typeof reconciledService>>;
  let api: PromiseWithResolvers<void>;
  const served = async () => {
    const { forwardAddress, release } = await s.access.acquire(s.id, new AbortController().signal);
    release();
    return forwardAddress.port;
  };
  beforeEach(async () => {
    s = await reconciledService();
    await s.until("running");
    await s.db.run("UPDATE services SET runtime = 'kubernetes' WHERE id = ?", s.id);
    api = Promise.withResolvers();
    s.runtime.mayStart = api.promise;
    s.runtime.isCurrent = false;
    await s.until("starting");
  });
  afterEach(() => s.close());

  test("serves until there is another one, whatever the API server does", async () => {
    expect([await served(), s.runtime.starts, s.runtime.live]).toEqual([1, 2, 1]);
    api.resolve();
    await s.until("running");
    expect([await served(), s.runtime.live]).toEqual([2, 1]);
  });

  test("ends with a start that fails", async () => {
    api.reject(new Error("refused"));
    await vi.waitFor(async () => expect(await s.state()).toBe("degraded"), 60_000);
    await vi.waitFor(() => expect([s.access.engines().size, s.runtime.live]).toEqual([0, 0]), 60_000);
  });

  test("ends when the service is stopped, and not when its next start begins anew", async () => {
    await s.services.change(s.id, { maxReplicaMemoryGb: 2 });
    await vi.waitFor(async () => {
      await s.reconciler.pass();
      expect(s.runtime.starts).toBe(3);
    }, 60_000);
    expect([await served(), s.runtime.live]).toEqual([1, 1]);
    await s.services.setDesired(s.id, "stopped");
    await s.until("stopped");
    expect(s.runtime.live).toBe(0);
    await expect(served()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  test("that ends meanwhile is not a death of the next one", async () => {
    s.runtime.die("the pod is gone");
    await vi.waitFor(() => expect(s.access.engines().size).toBe(0), 60_000);
    api.resolve();
    await s.until("running");
    await s.reconciler.pass();
    expect([await served(), await s.state(), s.runtime.live]).toEqual([2, "running", 1]);
  });
});
