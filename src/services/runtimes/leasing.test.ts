import { describe, expect, test } from "vitest";
import type { Service } from "../../store/services/services.ts";
import type { RunningEngine } from "../runtime.ts";
import { unwatched } from "../transitions.ts";
import { LeasingRuntime } from "./leasing.ts";

const service = { id: "s" } as Service;

/** A runtime that records its calls, and refuses to run two engines of a service at once. */
function recorder(restore?: (engine: RunningEngine) => Promise<void>) {
  const log: string[] = [];
  let live = 0;
  const inner = {
    start: async () => {
      if (live > 0) throw new Error("two engines at once");
      live += 1;
      log.push("start");
      const end = Promise.withResolvers<string>();
      const stop = async () => {
        live -= 1;
        log.push("stop");
        end.resolve("stopped");
      };
      const address = { host: "x", port: 1 };
      return {
        address,
        process: { pid: 1, memoryGb: 1 },
        readerAddress: address,
        isCurrent: async () => true,
        forwardAddress: { port: 1, key: "k" },
        version: "1",
        limitDisk: () => {},
        ended: end.promise,
        stop,
      };
    },
    remove: async () => void log.push("remove"),
  };
  return { log, runtime: new LeasingRuntime(inner, async () => restore) };
}

describe("a lent engine", () => {
  test("serves nobody else: starting and removing the service wait until it is released", async () => {
    const { log, runtime } = recorder();
    const lent = await runtime.lease(service);
    const starting = runtime.start(service, unwatched);
    const removing = runtime.remove(service, unwatched);
    expect(log).toEqual(["start"]);
    await lent?.release();
    await (await starting).stop();
    await removing;
    expect(log).toEqual(["start", "stop", "start", "stop", "remove"]);
  });

  test("is none while the service's own runs, and one again after that has ended", async () => {
    const { runtime } = recorder();
    const engine = await runtime.start(service, unwatched);
    expect(await runtime.lease(service)).toBeUndefined();
    await engine.stop();
    await engine.ended;
    expect(await runtime.lease(service)).toMatchObject({ address: { host: "x" } });
  });
});

describe("a service that has to be filled", () => {
  test("begins with nothing and serves only when it is full", async () => {
    const { log, runtime } = recorder(async () => void log.push("fill"));
    await runtime.start(service, unwatched);
    expect(log).toEqual(["remove", "start", "fill"]);
  });

  test("ends its engine when filling fails, and says why", async () => {
    const { log, runtime } = recorder(() => Promise.reject(new Error("damaged")));
    await expect(runtime.start(service, unwatched)).rejects.toThrow("damaged");
    expect(log).toEqual(["remove", "start", "stop"]);
  });
});
