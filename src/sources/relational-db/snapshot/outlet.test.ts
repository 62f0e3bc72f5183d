import { describe, expect, test } from "vitest";
import type { Batch } from "../../source.ts";
import type { PostgresDurable } from "../durable.ts";
import { Outlet } from "./outlet.ts";

const batch = (id: string): Batch<PostgresDurable> => ({
  lane: "l",
  id,
  replay: { kind: "copy", lane: "l", id },
  inserts: [],
});

/** Has it happened by now? */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe("Outlet", () => {
  test("a batch waits for a place until one that was taken is durable, and order is kept", async () => {
    const outlet = new Outlet(1);
    await outlet.give(batch("a"));
    const second = outlet.give(batch("b"));
    const third = outlet.give(batch("c"));
    expect((await outlet.next())?.id).toBe("a");
    expect(await settled(second)).toBe(false);
    outlet.free();
    await second;
    expect((await outlet.next())?.id).toBe("b");
    expect(await settled(third)).toBe(false);
    outlet.free();
    await third;
    expect((await outlet.next())?.id).toBe("c");
  });

  test("who takes waits for the next one, and the end comes after what is ready", async () => {
    const outlet = new Outlet(2);
    const next = outlet.next();
    expect(await settled(next)).toBe(false);
    await outlet.give(batch("a"));
    expect((await next)?.id).toBe("a");
    await outlet.give(batch("b"));
    outlet.close();
    expect((await outlet.next())?.id).toBe("b");
    expect(await outlet.next()).toBeUndefined();
  });

  test("closed, it lets nobody wait, and an error after that is nobody's", async () => {
    const outlet = new Outlet(0);
    const waiting = outlet.give(batch("a"));
    const next = outlet.next();
    outlet.close();
    outlet.fail(new Error("late"));
    await expect(waiting).rejects.toThrow("the copy is over");
    expect(await next).toBeUndefined();
    await expect(outlet.give(batch("b"))).rejects.toThrow("the copy is over");
  });

  test("a failure comes after the batches before it", async () => {
    const outlet = new Outlet(1);
    await outlet.give(batch("a"));
    const waiting = outlet.give(batch("b"));
    outlet.fail(new Error("broken"));
    await expect(waiting).rejects.toThrow();
    expect((await outlet.next())?.id).toBe("a");
    await expect(outlet.next()).rejects.toThrow("broken");
  });
});
