/** Polls of a continuous pipe: what they find, and what they ask for when there is nothing to find. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { MemoryObjects } from "../../../harness/objects/memory-store.ts";
import { keptMarks, testContext } from "../../../harness/sources/source-context.ts";
import { assignedWorker } from "../../lib/assign.ts";
import type { Json } from "../../lib/json.ts";
import type { Batch } from "../contract/source.ts";
import { type ObjectDurable, objectShapes } from "./declaration/durable.ts";
import { ObjectSource } from "./source.ts";
import type { ObjectFile } from "./stores/store.ts";

const keysPerPage = 4;

const running: { stop: AbortController; ended: Promise<void> }[] = [];
afterEach(async () => {
  for (const { stop, ended } of running.splice(0)) {
    stop.abort();
    await ended;
  }
});

/** A pipe over these objects that makes every batch durable at once. */
function poll(...keys: string[]) {
  return pollWith(new Map(), ...keys);
}

/** The same with these marks of an earlier run. */
function pollWith(stored: Map<string, Json>, ...keys: string[]) {
  return pollAs({ index: 0, count: 1 }, stored, ...keys);
}

/** The same as one of several replicas. */
function pollAs(replica: { index: number; count: number }, stored: Map<string, Json>, ...keys: string[]) {
  const objects = new Map(keys.map((key) => [key, "v1"]));
  const store = new MemoryObjects(objects, { perPage: keysPerPage, etagOf: (content) => content });
  const seen = { loaded: [] as string[], refused: [] as string[], given: [] as string[], marks: 0, reports: 0 };
  const kept = keptMarks<ObjectDurable>(objectShapes, stored);
  const marks: typeof kept.marks = (wanted) => {
    seen.marks += 1;
    return kept.marks(wanted);
  };
  const context = testContext<ObjectDurable>({
    replica,
    settings: {
      object_storage_polling_interval_ms: 1,
      object_storage_max_file_count: 10,
      object_storage_max_insert_bytes: 2 ** 30,
    },
    ledger: {
      ...kept,
      marks,
      reject: async (records) => void seen.refused.push(...records.map(({ origin }) => origin)),
    },
    // A listing that a busy machine makes slower is reported, too.
    progress: { report: (gauges) => (seen.reports += "listMs" in gauges ? 0 : 1) },
  });
  const config = { url: "http://host/bucket/in/*.json", isContinuous: true };
  const source = new ObjectSource({ config, context, store, pattern: "in/*.json" });
  const stop = new AbortController();
  const load = async () => {
    for await (const batch of source.read(new Map(), stop.signal)) {
      await context.ledger.note(batch.marks ?? {}, {});
      await source.acknowledge(batch);
      seen.given.push(...(batch.rejected ?? []).map(({ message }) => message));
      seen.loaded.push(...batch.replay.files.map(({ key }) => key));
    }
  };
  running.push({ stop, ended: load() });
  const polls = async (further: number) => {
    const before = store.lists.length;
    await vi.waitFor(() => expect(store.lists.length).toBeGreaterThanOrEqual(before + further), 60_000);
  };
  const loads = async (...expected: string[]) =>
    await vi.waitFor(() => expect(seen.loaded.toSorted()).toEqual(expected.toSorted()), 60_000);
  return { objects, store, seen, polls, loads };
}

describe("objects on one page", () => {
  test("at rest a poll is one LIST from the first key, without a look at marks and without a report", async () => {
    const { store, seen, polls, loads } = poll("in/b.json", "in/c.json");
    await loads("in/b.json", "in/c.json");
    await polls(4);
    const before = { ...seen, lists: store.lists.length };
    await polls(6);
    expect(seen.marks).toBe(before.marks);
    expect(seen.reports).toBe(before.reports);
    expect(new Set(store.lists.slice(before.lists))).toEqual(new Set([undefined]));
  });

  test("new, late and replaced objects are found", async () => {
    const { objects, seen, polls, loads } = poll("in/b.json");
    await loads("in/b.json");
    await polls(3);
    objects.set("in/c.json", "v1");
    await loads("in/b.json", "in/c.json");
    objects.set("in/a.json", "v1");
    await loads("in/a.json", "in/b.json", "in/c.json");
    objects.set("in/b.json", "v2");
    await vi.waitFor(() => expect(seen.refused).toEqual(["in/b.json"]), 60_000);
    await polls(4);
    expect(seen.refused).toEqual(["in/b.json"]);
    expect(seen.loaded.length).toBe(3);
  });

  test("a pipe without an object finds the first one", async () => {
    const { objects, polls, loads } = poll();
    await polls(3);
    objects.set("in/a.json", "v1");
    await loads("in/a.json");
  });
});

describe("more objects than a page shows", () => {
  const old = Array.from({ length: 2 * keysPerPage + 1 }, (_, i) => `in/m${i}.json`);

  test("a poll lists behind the last key, and one page of the old keys", async () => {
    const { objects, store, polls, loads } = poll(...old);
    await loads(...old);
    await polls(4);
    const before = store.lists.length;
    await polls(8);
    const tail = store.lists.slice(before).filter((after) => after === old.at(-1)).length;
    expect(tail).toBeGreaterThanOrEqual(3);
    objects.set("in/a.json", "v1");
    objects.set("in/z.json", "v1");
    await loads(...old, "in/a.json", "in/z.json");
  });

  test("a listing that grows beyond its page, or shrinks to it, misses nothing", async () => {
    const { objects, store, polls, loads } = poll("in/m0.json");
    await loads("in/m0.json");
    await polls(3);
    for (const key of old) objects.set(key, "v1");
    await loads(...old);
    for (const key of old.slice(1)) objects.delete(key);
    await polls(12);
    objects.set("in/a.json", "v1");
    objects.set("in/z.json", "v1");
    await loads(...old, "in/a.json", "in/z.json");
    await polls(8);
    const before = store.lists.length;
    await polls(4);
    expect(new Set(store.lists.slice(before))).toEqual(new Set([undefined]));
  });
});

test("an object that is to be loaded once more and no longer exists is given up, once", async () => {
  const stored = new Map<string, Json>([
    ["again", { prefixes: ["in/gone.json", "in/there.json"] }],
    ["o:in/gone.json", { etag: "v1", result: "again", again: 1 }],
    ["o:in/there.json", { etag: "v1", result: "again", again: 1 }],
  ]);
  const { seen, loads } = pollWith(stored, "in/there.json");
  await loads("in/gone.json", "in/there.json");
  expect(seen.given).toEqual([expect.stringContaining("no longer exists")]);
  expect(stored.get("o:in/gone.json")).toMatchObject({ etag: "v1", result: "failed", again: 1 });
  expect(stored.get("o:in/there.json")).toMatchObject({ etag: "v1", result: "loaded", again: 1 });
  const next = pollWith(stored, "in/there.json");
  await next.polls(3);
  expect(next.seen.loaded).toEqual([]);
});

test("an object below a prefix that is to be loaded once more is passed over while it is gone", async () => {
  const stored = new Map<string, Json>([
    ["again", { prefixes: ["in/"] }],
    ["o:in/gone.json", { etag: "v1", result: "again", again: 1 }],
    ["o:in/there.json", { etag: "v1", result: "again", again: 1 }],
  ]);
  const first = pollWith(stored, "in/there.json");
  await first.loads("in/there.json");
  await first.polls(3);
  expect([first.seen.given, first.seen.refused]).toEqual([[], []]);
  // Nothing was left of the prefix: only the next start looks at it once more.
  const second = pollWith(stored, "in/there.json");
  await second.polls(3);
  expect(stored.has("again")).toBe(false);
  const { objects, loads } = pollWith(stored, "in/there.json");
  objects.set("in/gone.json", "v2");
  await loads("in/gone.json");
  expect(stored.get("o:in/gone.json")).toMatchObject({ etag: "v2", result: "loaded", again: 1 });
});

test("what another replica is to load once more is looked at until it has done so", async () => {
  const candidates = Array.from({ length: 20 }, (_, at) => `in/${at}.json`);
  const keys = [0, 1].map((index) => candidates.find((key) => assignedWorker(key, 2) === index) as string);
  const marks = keys.map((key) => [`o:${key}`, { etag: "v1", result: "again", again: 1 }] as const);
  const stored = new Map<string, Json>([["again", { prefixes: ["in/"] }], ...marks]);
  const startTwice = async (index: number) => {
    for (let start = 0; start < 2; start += 1) await pollAs({ index, count: 2 }, stored, ...keys).polls(3);
    return keys.map((key) => (stored.get(`o:${key}`) as { result: string }).result);
  };
  expect(await startTwice(0)).toEqual(["loaded", "again"]);
  expect(stored.get("again")).toEqual({ prefixes: ["in/"] });
  expect(await startTwice(1)).toEqual(["loaded", "loaded"]);
  expect(stored.has("again")).toBe(false);
});

test.each([
  ["the same", "v1"],
  ["other", "v2"],
])("an object that was deleted before it was loaded, and is made again with %s content, is loaded", async (_, etag) => {
  const stored = new Map<string, Json>([["o:in/a.json", { etag: "v1", result: "gone" }]]);
  const { objects, seen, loads } = pollWith(stored, "in/b.json");
  await loads("in/b.json");
  objects.set("in/a.json", etag);
  await loads("in/a.json", "in/b.json");
  expect(stored.get("o:in/a.json")).toMatchObject({ etag, result: "loaded" });
  expect(seen.refused).toEqual([]);
});

test("what is given up because the object is gone lets another version be loaded, unless it was loaded before", async () => {
  const context = testContext<ObjectDurable>();
  const store = new MemoryObjects(new Map(), { perPage: keysPerPage, etagOf: (content) => content });
  const source = new ObjectSource({ config: { url: "http://host/b/in/*" }, context, store, pattern: "in/*" });
  const resultOf = async (file: ObjectFile) => {
    const pack = { files: [file], format: "JSONEachRow", oneBlock: true, lenient: false, threads: 1 } as const;
    const batch: Batch<ObjectDurable> = { lane: "l", id: "l", replay: { ...pack, files: [file] }, inserts: [] };
    const { signal } = new AbortController();
    const [given = batch] = await source.refused(
      batch,
      { kind: "source", message: "404", code: undefined } as never,
      signal,
    );
    const again = await source.replay(given.replay, signal);
    expect(again.marks).toEqual(given.marks);
    return given.marks?.[`o:${file.key}`];
  };
  expect(await resultOf({ key: "in/a.json", etag: "v1", size: 1 })).toMatchObject({ result: "gone" });
  expect(await resultOf({ key: "in/a.json", etag: "v1", size: 1, again: 1 })).toMatchObject({ result: "failed" });
});
