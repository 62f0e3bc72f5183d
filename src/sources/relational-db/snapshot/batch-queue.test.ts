import { describe, expect, test } from "vitest";
import type { Batch } from "../../contract/source.ts";
import type { PostgresDurable } from "../declaration/durable.ts";
import { BatchQueue } from "./batch-queue.ts";

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

describe("BatchQueue", () => {
  test("a batch waits for a place until one that was taken is durable, and order is kept", async () => {
    const batchQueue = new BatchQueue(1);
    await batchQueue.push(batch("a"));
    const second = batchQueue.push(batch("b"));
    const third = batchQueue.push(batch("c"));
    expect((await batchQueue.next())?.id).toBe("a");
    expect(await settled(second)).toBe(false);
    batchQueue.release();
    await second;
    expect((await batchQueue.next())?.id).toBe("b");
    expect(await settled(third)).toBe(false);
    batchQueue.release();
    await third;
    expect((await batchQueue.next())?.id).toBe("c");
  });

  test("who takes waits for the next one, and the end comes after what is ready", async () => {
    const batchQueue = new BatchQueue(2);
    const next = batchQueue.next();
    expect(await settled(next)).toBe(false);
    await batchQueue.push(batch("a"));
    expect((await next)?.id).toBe("a");
    await batchQueue.push(batch("b"));
    batchQueue.close();
    expect((await batchQueue.next())?.id).toBe("b");
    expect(await batchQueue.next()).toBeUndefined();
  });

  test("closed, it lets nobody wait, and an error after that is nobody's", async () => {
    const batchQueue = new BatchQueue(0);
    const waiting = batchQueue.push(batch("a"));
    const next = batchQueue.next();
    batchQueue.close();
    batchQueue.fail(new Error("late"));
    await expect(waiting).rejects.toThrow("the copy is over");
    expect(await next).toBeUndefined();
    await expect(batchQueue.push(batch("b"))).rejects.toThrow("the copy is over");
  });

  test("a failure comes after the batches before it", async () => {
    const batchQueue = new BatchQueue(1);
    await batchQueue.push(batch("a"));
    const waiting = batchQueue.push(batch("b"));
    batchQueue.fail(new Error("broken"));
    await expect(waiting).rejects.toThrow();
    expect((await batchQueue.next())?.id).toBe("a");
    await expect(batchQueue.next()).rejects.toThrow("broken");
  });
});
