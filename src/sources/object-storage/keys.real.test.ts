/** Which objects are loaded: odd keys, patterns, pages, late and replaced objects. Real engine, S3 server in process. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChartEngine, startEngine } from "../../../test/support/chart-engine.ts";
import { objectPipe, runUntil } from "../../../test/support/object-pipe.ts";
import { startTestStore, type TestStore } from "../../../test/support/object-store.ts";

let engine: ChartEngine;
let store: TestStore;
beforeAll(async () => {
  [engine, store] = await Promise.all([startEngine(), startTestStore()]);
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const columns = [
  { name: "id", type: "UInt32" },
  { name: "path", type: "String", sourceField: "_path" },
];
const source = (pattern: string, more: object = {}) => ({
  url: `${store.endpoint}/${store.bucket}/${pattern}`,
  format: "JSONEachRow" as const,
  accessKey: store.accessKey,
  ...more,
});
const ids = (pipe: { rows(sql: string): Promise<string> }) =>
  pipe.rows("SELECT arrayStringConcat(groupArray(toString(id)), ',') FROM (SELECT id FROM {table} ORDER BY id)");
const row = (id: number) => `{"id":${id}}\n`;

const oddKeys = [
  "odd/a b.json",
  "odd/percent%20and%.json",
  "odd/plus+plus.json",
  "odd/ünï-日本-🙂.json",
  "odd/{1,2}.json",
  "odd/brace{.json",
  "odd/star*.json",
  "odd/question?.json",
  "odd/back\\slash.json",
  "odd/quote'\"`.json",
  "odd/comma,semi;.json",
  "odd/hash#amp&eq=.json",
  "odd/deep/er/./x.json",
  "odd/[brackets](parens)!~.json",
  "odd/dollar$@:.json",
];

describe("keys", () => {
  test("every odd key is loaded once, and only by its own name", async () => {
    for (const [id, key] of oddKeys.entries()) await store.put(key, row(id));
    // Objects that the wildcards of odd keys would match.
    await store.put("odd/1.json", row(100));
    await store.put("odd/starX.json", row(101));
    await store.put("odd/questionX.json", row(102));
    const pipe = await objectPipe(engine, source("odd/**"), columns);
    await pipe.run();
    await pipe.run();
    expect(await pipe.errors()).toEqual([]);
    const paths = await pipe.rows("SELECT path FROM {table} WHERE id < 100 ORDER BY id FORMAT JSONCompactColumns");
    expect(JSON.parse(paths)).toEqual([oddKeys.map((key) => `${store.bucket}/${key}`)]);
    expect((await ids(pipe)).split(",")).toEqual([...oddKeys.map((_, id) => String(id)), "100", "101", "102"]);
  });

  test.each([
    ["glob/a?.json", [1, 2]],
    ["glob/*.json", [1, 2, 3]],
    ["glob/**.json", [1, 2, 3, 4, 5]],
    ["glob/*/x.json", [4]],
    ["glob/**/y.json", [5]],
    ["glob/A?.json", []],
    ["glob/abc.json", [3]],
  ])("%s selects %j", async (pattern, expected) => {
    await store.put("glob/a1.json", row(1));
    await store.put("glob/a2.json", row(2));
    await store.put("glob/abc.json", row(3));
    await store.put("glob/sub/x.json", row(4));
    await store.put("glob/sub/deep/y.json", row(5));
    const pipe = await objectPipe(engine, source(pattern), columns);
    await pipe.run();
    expect(await ids(pipe)).toBe(expected.join(","));
  });

  test("thousands of keys below one prefix, over several pages", async () => {
    const count = 2500;
    for (let from = 0; from < count; from += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => store.put(`many/${from + i}.json`, row(from + i))));
    }
    const pipe = await objectPipe(engine, source("many/*.json"), columns, {
      settings: { object_storage_max_file_count: 500 },
    });
    await pipe.run();
    expect(await pipe.rows("SELECT count(), uniqExact(id) FROM {table}")).toBe(`${count}\t${count}`);
    expect(pipe.ledger.counts.get("filesLoaded")).toBe(count);
    expect(pipe.gauges.at(-1)).toMatchObject({ filesPending: 0, bytesPending: 0 });
    await pipe.run();
    expect(pipe.ledger.counts.get("filesLoaded")).toBe(count);
  });
});

describe("continuous polling", () => {
  const settings = { object_storage_polling_interval_ms: 100 };

  test("finds new keys, late smaller keys and replaced objects; the same content again is not loaded again", async () => {
    await store.put("live/m.json", row(1));
    const pipe = await objectPipe(engine, source("live/*.json", { isContinuous: true }), columns, { settings });
    const shows = (expected: string) => async () => (await ids(pipe)) === expected;
    await runUntil(pipe, shows("1"));
    await store.put("live/z.json", row(2));
    await runUntil(pipe, shows("1,2"));
    await store.put("live/a.json", row(3));
    await runUntil(pipe, shows("1,2,3"));
    await store.put("live/m.json", row(4));
    await runUntil(pipe, shows("1,2,3,4"));
    await store.put("live/z.json", row(2));
    await store.put("live/zz.json", row(5));
    await runUntil(pipe, shows("1,2,3,4,5"));
  });

  test("startAfter leaves smaller keys out for good", async () => {
    for (const [id, key] of ["a", "b", "c"].entries()) await store.put(`after/${key}.json`, row(id));
    const config = source("after/*.json", { isContinuous: true, startAfter: "after/b.json" });
    const pipe = await objectPipe(engine, config, columns, { settings });
    await runUntil(pipe, async () => (await ids(pipe)) === "2");
    await store.put("after/aa.json", row(7));
    await store.put("after/bb.json", row(8));
    await runUntil(pipe, async () => (await ids(pipe)) === "2,8");
  });

  test("a restart lists from where everything before is durable", async () => {
    for (let id = 0; id < 30; id += 1) await store.put(`resume/${String(id).padStart(3, "0")}.json`, row(id));
    const config = source("resume/*.json", { isContinuous: true });
    const pipe = await objectPipe(engine, config, columns, {
      settings: { ...settings, object_storage_max_file_count: 4 },
    });
    const saved = () => pipe.ledger.checkpoints.get("listing") as { after?: string } | undefined;
    await runUntil(pipe, async () => saved()?.after === "resume/029.json");
    expect(await pipe.rows("SELECT count(), uniqExact(id) FROM {table}")).toBe("30\t30");
    await store.put("resume/030.json", row(30));
    await runUntil(pipe, async () => saved()?.after === "resume/030.json");
    expect(await pipe.rows("SELECT count(), uniqExact(id) FROM {table}")).toBe("31\t31");
  });
});
