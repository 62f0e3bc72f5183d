/**
 * How shards are read: within the limits of the service, despite throttling and expired iterators, parents before
 * children.
 */

import { describe, expect, test } from "vitest";
import { MemoryStream, record } from "../../../../harness/kinesis/memory-stream.ts";
import { keptMarks } from "../../../../harness/sources/source-context.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Json } from "../../../lib/json.ts";
import type { SourceContext } from "../../contract/source.ts";
import { type KinesisDurable, kinesisShapes } from "../declaration/durable.ts";
import { StreamError } from "../stream.ts";
import { poll, readRange } from "./polling.ts";
import { startAfter } from "./position.ts";
import { finishedMark, ShardLineage } from "./shard-lineage.ts";
import { frozenStart } from "./start.ts";

const shard = (id: string, parents: string[], closed: boolean, count = 0) => ({
  ...{ id, parents, closed },
  records: Array.from({ length: count }, (_, index) => record(0, index, `record ${index}`)),
});

/** Reads for this time; returns the data read. */
async function pollFor(ms: number, stream: MemoryStream): Promise<string[]> {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), ms);
  const found: string[] = [];
  let at: string | undefined;
  const from = () => (at === undefined ? ({ from: "horizon" } as const) : startAfter(at));
  for await (const { records } of poll(stream, "a", from, stop.signal)) {
    for (const one of records) found.push(Buffer.from(one.data).toString());
    at = records.at(-1)?.sequence ?? at;
  }
  return found;
}

describe("polling", () => {
  test("asks a shard with news at most five times a second, and one without less and less", async () => {
    const busy = new MemoryStream([shard("a", [], false, 1_000)], 10);
    const idle = new MemoryStream([shard("a", [], false)], 10);
    await Promise.all([pollFor(1_900, busy), pollFor(1_900, idle)]);
    expect(busy.calls.length).toBeGreaterThan(3);
    expect(busy.calls.length).toBeLessThanOrEqual(10);
    expect(idle.calls.length).toBeLessThanOrEqual(6);
    const gaps = idle.calls.slice(1).map(({ at }, i) => at - (idle.calls[i]?.at ?? 0));
    expect(gaps.at(-1)).toBeGreaterThan((gaps[0] as number) + 100);
  });

  test("after a large answer waits until the shard may give more", async () => {
    const stream = new MemoryStream([shard("a", [], false)], 1);
    for (let i = 0; i < 3; i += 1) stream.all[0]?.records.push(record(0, i, Buffer.alloc(1_000_000)));
    await pollFor(700, stream);
    expect(stream.calls.length).toBe(2);
  });

  test("throttling is waited out with pauses, and an expired iterator is replaced at the position reached", async () => {
    const stream = new MemoryStream([shard("a", [], true, 30)], 10);
    const throttled = new StreamError("throttled", new Error());
    stream.faults.push(throttled, throttled, undefined, new StreamError("expired", new Error()));
    expect((await pollFor(10_000, stream)).length).toBe(30);
    expect(stream.calls.length).toBe(6);
    expect((stream.calls[1]?.at ?? 0) - (stream.calls[0]?.at ?? 0)).toBeGreaterThan(190);
    expect(stream.iterators.at(-1)).toEqual({ from: "after", sequence: stream.all[0]?.records[9]?.sequence });
  });

  test("an outage is tried again a few times and then told", async () => {
    const stream = new MemoryStream([shard("a", [], true, 30)], 10);
    for (let i = 0; i < 10; i += 1) stream.faults.push(new AppError("SOURCE_UNREACHABLE", "no answer"));
    await expect(pollFor(10_000, stream)).rejects.toThrow("no answer");
    expect(stream.calls.length).toBe(4);
  });
});

describe("a range", () => {
  const endless = new AbortController().signal;
  const read = async (stream: MemoryStream, first: string, last: string) => {
    const found: string[] = [];
    for await (const records of readRange(stream, "a", first, last, endless)) {
      found.push(...records.map((one) => one.sequence));
    }
    return found;
  };

  test("is read exactly, both ends included", async () => {
    const stream = new MemoryStream([shard("a", [], false, 30)], 7);
    const all = stream.all[0]?.records.map((one) => one.sequence) as [string, ...string[]];
    expect(await read(stream, all[3] as string, all[17] as string)).toEqual(all.slice(3, 18));
    expect(await read(stream, all[29] as string, all[29] as string)).toEqual([all[29]]);
  });

  test("that was trimmed ends with what is left", async () => {
    const stream = new MemoryStream([shard("a", [], false, 10)], 7);
    const all = stream.all[0]?.records.map((one) => one.sequence) as string[];
    stream.all[0]?.records.splice(0, 5);
    expect(await read(stream, all[2] as string, all[7] as string)).toEqual(all.slice(5, 8));
    stream.all[0]?.records.splice(0);
    expect(await read(stream, all[2] as string, all[7] as string)).toEqual([]);
  });
});

type Ledger = Pick<SourceContext<KinesisDurable>, "ledger" | "replica"> & { readonly saved: Map<string, Json> };

function ledger(index = 0, saved = new Map<string, Json>()): Ledger {
  return {
    saved,
    replica: { index, count: 2 },
    ledger: { ...keptMarks<KinesisDurable>(kinesisShapes, saved), reject: async () => {} },
  };
}

const config = { streamName: "s", region: "us-east-1" };

describe("the start", () => {
  const signal = new AbortController().signal;

  test("LATEST is the end of the open shards in the first life and the same moment in every later one", async () => {
    const stream = new MemoryStream([shard("old", [], true), shard("a", ["old"], false, 5)], 10);
    const first = ledger();
    const before = Date.now();
    const start = await frozenStart({ ...config, iteratorType: "LATEST" }, first, stream, signal);
    expect(start?.isBefore("old")).toBe(true);
    expect(start?.of("a")).toEqual({ from: "latest" });
    // A new iterator for the same shard must not skip records that have arrived meanwhile.
    const again = start?.of("a") as { from: string; ms: number };
    expect(again.from).toBe("time");
    expect(again.ms).toBeGreaterThanOrEqual(before);
    const later = await frozenStart({ ...config, iteratorType: "LATEST" }, ledger(0, first.saved), stream, signal);
    expect(later?.of("a")).toEqual(again);
    // A shard created after the start is read from its first record.
    expect(later?.of("new")).toEqual({ from: "horizon" });
  });

  test("is the time that is given, also without an iterator type, and else the first record", async () => {
    const stream = new MemoryStream([shard("a", [], false)], 10);
    const timed = await frozenStart({ ...config, timestamp: 1_700_000_000 }, ledger(), stream, signal);
    expect(timed?.of("a")).toEqual({ from: "time", ms: 1_700_000_000_000 });
    expect((await frozenStart(config, ledger(), stream, signal))?.of("a")).toEqual({ from: "horizon" });
  });

  test("is frozen by the first replica; the others wait for it", async () => {
    const stream = new MemoryStream([shard("a", [], false)], 10);
    const saved = new Map<string, Json>();
    let known = false;
    const other = frozenStart({ ...config, iteratorType: "LATEST" }, ledger(1, saved), stream, signal).then((start) => {
      known = saved.size > 0;
      return start;
    });
    await frozenStart({ ...config, iteratorType: "LATEST" }, ledger(0, saved), stream, signal);
    expect((await other)?.of("a")).toMatchObject({ from: "time" });
    expect(known).toBe(true);
  });
});

describe("lineage", () => {
  test("a shard may be read when all of its parents are finished, whoever finished them", async () => {
    const family = [
      shard("p1", [], true),
      shard("p2", ["long gone"], true),
      shard("merged", ["p1", "p2"], true),
      shard("child", ["merged"], false),
    ];
    const book = ledger();
    const start = await frozenStart(config, book, new MemoryStream(family, 10), new AbortController().signal);
    const shardLineage = new ShardLineage(book.ledger.marks, start as NonNullable<typeof start>);
    const readable = async () => {
      await shardLineage.learn(family);
      return shardLineage.readable(family).map((one) => one.id);
    };
    expect(await readable()).toEqual(["p1", "p2"]);
    book.saved.set(finishedMark("p1"), "finished");
    expect(await readable()).toEqual(["p2"]);
    book.saved.set(finishedMark("p2"), "finished");
    expect(await readable()).toEqual(["merged"]);
    book.saved.set(finishedMark("merged"), "finished");
    expect(await readable()).toEqual(["child"]);
  });
});
