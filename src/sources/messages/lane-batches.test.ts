import { afterEach, expect, test, vi } from "vitest";
import { JsonRows } from "./formats/json-rows.ts";
import { LaneBatches } from "./lane-batches.ts";
import { batchLimits } from "./limits.ts";
import type { SourceMessage } from "./message.ts";
import { MessageBatch } from "./message-batch.ts";
import { planRows } from "./plan.ts";
import { rowPool } from "./row-memory.ts";

const columns = [{ name: "a", type: "String", sourceField: "a" }];
const encoder = new JsonRows<SourceMessage>(planRows({ database: "d", table: "t", columns }, "JSONEachRow", {}));
const endless = new AbortController().signal;

afterEach(() => void vi.useRealTimers());

function lanes(limits: Partial<ReturnType<typeof batchLimits>>) {
  return new LaneBatches<SourceMessage>(
    { ...batchLimits(1, 60_000), ...limits },
    (origin, start) => new MessageBatch({ encoder, origin, maxMessageBytes: 2e6, ...start }),
  );
}

function put(batches: LaneBatches<SourceMessage>, lane: string, from: number, to: number) {
  for (let position = from; position < to; position += 1) {
    const bytes = Buffer.from(`{"a":"${position}"}`);
    batches.add(lane, { bytes, start: 0, end: bytes.length, position }, position + 1);
  }
}

test("full batches are handed out one per lane at a time, in order", async () => {
  const batches = lanes({ maxRows: 4 });
  // The first batch of a lane is a quarter of the others.
  put(batches, "a", 0, 5);
  put(batches, "b", 0, 1);
  const first = await batches.next(endless);
  const second = await batches.next(endless);
  expect([first?.lane, first?.next, second?.lane]).toEqual(["a", 1, "b"]);
  // Lane a still has a batch in progress: its second batch waits.
  const third = batches.next(endless);
  expect(await Promise.race([third, new Promise((resolve) => setImmediate(() => resolve("waits")))])).toBe("waits");
  batches.done("a");
  expect(await third).toMatchObject({ lane: "a", next: 5 });
});

test("a small batch is handed out when it is old, and a lane that only moved on as well", async () => {
  const batches = lanes({ maxWaitMs: 20 });
  put(batches, "a", 0, 1);
  batches.moveTo("b", 17);
  expect(await batches.next(endless)).toMatchObject({ lane: "a", next: 1 });
  expect(await batches.next(endless)).toMatchObject({ lane: "b", next: 17 });
});

test("a step of the wall clock holds no batch back, and hurries none", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const batches = lanes({ maxWaitMs: 20 });
  put(batches, "a", 0, 1);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(await batches.next(endless)).toMatchObject({ lane: "a", next: 1 });
  const patient = lanes({ maxWaitMs: 3_000_000 });
  put(patient, "a", 0, 1);
  vi.setSystemTime(Date.now() + 3_600_000);
  const next = patient.next(endless);
  expect(await Promise.race([next, new Promise((resolve) => setImmediate(() => resolve("waits")))])).toBe("waits");
  patient.fail(new Error("the end"));
  await expect(next).rejects.toThrow("the end");
});

test("a new lane does not wait for more than the source had at once; later its batches do", async () => {
  const batches = lanes({ maxRows: 400 });
  batches.answered("a", 0);
  put(batches, "a", 0, 3);
  batches.answered("a", 0);
  expect(await batches.next(endless)).toMatchObject({ lane: "a", next: 3 });
  batches.done("a");
  put(batches, "a", 3, 6);
  batches.answered("a", 0);
  const second = batches.next(endless);
  expect(await Promise.race([second, new Promise((resolve) => setImmediate(() => resolve("waits")))])).toBe("waits");
  // The first full one still is a quarter of the others.
  put(batches, "a", 6, 103);
  expect(await second).toMatchObject({ lane: "a", next: 103 });
});

test("the last batch of a backlog does not wait, and what follows it does", async () => {
  const batches = lanes({ maxRows: 400 });
  put(batches, "a", 0, 10);
  batches.answered("a", 40);
  expect(await batches.next(endless)).toMatchObject({ next: 10 });
  batches.done("a");
  put(batches, "a", 10, 45);
  // Less than what makes a backlog, and still its end is awaited.
  batches.answered("a", 5);
  const last = batches.next(endless);
  expect(await Promise.race([last, new Promise((resolve) => setImmediate(() => resolve("waits")))])).toBe("waits");
  put(batches, "a", 45, 50);
  batches.answered("a", 0);
  expect(await last).toMatchObject({ next: 50 });
  batches.done("a");
  put(batches, "a", 50, 60);
  batches.answered("a", 39);
  put(batches, "a", 60, 99);
  batches.answered("a", 0);
  const followed = batches.next(endless);
  expect(await Promise.race([followed, new Promise((resolve) => setImmediate(() => resolve("waits")))])).toBe("waits");
  batches.fail(new Error("the end"));
  await expect(followed).rejects.toThrow("the end");
});

test("memory is made for a full batch while the source has more, and for small ones when it has not", async () => {
  const guesses: number[] = [];
  const batches = new LaneBatches<SourceMessage>({ ...batchLimits(1, 20), maxRows: 400 }, (origin, start) => {
    guesses.push(start.expectedBytes);
    return new MessageBatch({ encoder, origin, maxMessageBytes: 2e6, ...start });
  });
  put(batches, "a", 0, 4);
  batches.answered("a", 0);
  await batches.next(endless);
  batches.done("a");
  for (let turn = 1; turn < 9; turn += 1) {
    put(batches, "a", turn * 4, turn * 4 + 1);
    await batches.next(endless);
    batches.done("a");
  }
  const [before, full, ...small] = guesses as [number, number, ...number[]];
  // 400 rows of `{"a":"0"}`, a line end and the memory per row.
  expect([before, full]).toEqual([0, 400 * (10 + 16)]);
  expect(small.at(-1)).toBeLessThan(full / 50);
});

test("when memory is full there is no room, and the largest batch goes at once", async () => {
  const batches = lanes({ memoryBytes: 600 });
  put(batches, "small", 0, 5);
  expect(batches.hasRoom("small")).toBe(true);
  put(batches, "large", 0, 30);
  expect(batches.hasRoom("small")).toBe(false);
  expect((await batches.next(endless))?.lane).toBe("large");
  // Rows in progress count until they are durable.
  expect(batches.hasRoom("small")).toBe(false);
  batches.done("large");
  expect(batches.hasRoom("small")).toBe(true);
});

test("a failure of a producer reaches the consumer", async () => {
  const batches = lanes({});
  const next = batches.next(endless);
  batches.fail(new Error("gone"));
  await expect(next).rejects.toThrow("gone");
});

test.each([
  ["is used again", 1, true],
  ["stays its own after a second attempt, as the first may still be sending", 2, false],
])("the memory of a durable batch %s", async (_, attempts, isShared) => {
  const batches = lanes({ maxBytes: 1_500_000, memoryBytes: 1e9 });
  // Other tests of this process may have left some.
  for (let piece = 0; piece < 10; piece += 1) rowPool.acquire(1_000_000);
  const fill = async (lane: string, filler: string) => {
    const bytes = Buffer.from(`{"a":"${filler.repeat(1_600_000)}"}`);
    batches.add(lane, { bytes, start: 0, end: bytes.length, position: 0 }, 1);
    const closed = await batches.next(endless);
    const [insert] = closed?.batch.inserts() ?? [];
    return () => insert?.body?.() as Buffer;
  };
  // The first one only determines how large batches are.
  (await fill("a", "x"))();
  batches.done("a");
  const first = await fill("a", "y");
  const sent = Array.from({ length: attempts }, first).at(-1) as Buffer;
  batches.done("a");
  const second = (await fill("a", "z"))();
  expect(second.buffer === sent.buffer).toBe(isShared);
  expect(second.toString()).toMatch(/^\{"a":"z+"\}\n$/);
});
