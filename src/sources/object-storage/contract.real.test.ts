/** The connector contract for objects: every crash point, with edits of mapping and settings between the runs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChartEngine, startEngine } from "../../../test/support/chart-engine.ts";
import { describeSource, type World } from "../../../test/support/describe-source.ts";
import { startTestStore, type TestStore } from "../../../test/support/object-store.ts";
import { createInserter } from "../../pipes/insert.ts";
import type { Batch, DestinationTable, SourceContext } from "../source.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { objectStorageConnector } from "./objects.ts";

let engine: ChartEngine;
let store: TestStore;
let tables = 0;
beforeAll(async () => {
  [engine, store] = await Promise.all([startEngine(), startTestStore()]);
  // A group of small objects with a broken one, an object of several blocks with bad rows, and one without a good row.
  for (let file = 0; file < 5; file += 1) {
    await store.put(`c/${file}.json`, Array.from({ length: 3 }, (_, i) => `{"id":${file * 3 + i}}\n`).join(""));
  }
  await store.put("c/2x.json", '{"id":900}\n{"id":"bad"}\n{"id":901}\n');
  await store.put("c/3x.json", "this is not JSON\n");
  const lines = Array.from({ length: 40_000 }, (_, i) => (i === 30_000 ? "garbage" : `{"id":${1000 + i},"t":"${i}"}`));
  await store.put("c/9-large.json", `${lines.join("\n")}\n`);
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const expectedRanges = [
  { n: 1, first: 0, last: 901, ids: 17 },
  ...Array.from({ length: 40 }, (_, thousand) => {
    const first = 1000 * (thousand + 1);
    return { n: 1, first: thousand === 30 ? first + 1 : first, last: first + 999, ids: thousand === 30 ? 999 : 1000 };
  }),
];

/** Small blocks, and every group of objects in one: an attempt that breaks off leaves some of its blocks. */
async function makeWorld(): Promise<World> {
  tables += 1;
  const table = `contract_${tables}`;
  await engine.client.command(`CREATE TABLE ${table} (id UInt32, extra String) ENGINE = MergeTree ORDER BY id
    SETTINGS non_replicated_deduplication_window = 10000`);
  const destination: { -readonly [K in keyof DestinationTable]: DestinationTable[K] } = {
    ...{ database: "default", table, columns: [{ name: "id", type: "UInt32", sourceField: "id" }] },
  };
  const inserter = createInserter({
    ...{ signal: new AbortController().signal, scrub: (text: string) => text, onTrouble: () => {} },
    acquire: async () => ({ socketPath: engine.socketPath, release: () => {} }),
  });
  const config: ObjectStorageConfig = {
    url: `${store.endpoint}/${store.bucket}/c/*`,
    accessKey: store.accessKey,
  };
  const settings: Record<string, number | boolean> = {};
  return {
    open: (context: SourceContext) =>
      objectStorageConnector.open(config, { ...context, destination: structuredClone(destination) }, context as never),
    insert: (insert, token, frozen, signal) =>
      inserter.insert(insert, token, { ...frozen, max_block_size: 5000, ...blocksOf(frozen) }, signal),
    ...{ destination, query: inserter.query, settings },
    // Readable when it differs: how many rows, and which ranges of ids there are how often.
    content: async () =>
      await engine.client.rows(`SELECT n, min(id) AS first, max(id) AS last, toUInt32(count()) AS ids
        FROM (SELECT id, toUInt32(count()) AS n FROM ${table} GROUP BY id) GROUP BY n, intDiv(id, 1000) ORDER BY first, n`),
    expected: expectedRanges,
    expectedRejections: ["c/2x.json", "c/3x.json", "c/9-large.json"].map((key) => `${store.bucket}/${key}`),
    // The mapping and the settings are edited while the pipe is down.
    betweenRuns: async (run) => {
      const extra = { name: "extra", type: "String", sourceField: "t" };
      destination.columns = [{ name: "id", type: "UInt32", sourceField: "id" }, ...(run % 2 === 0 ? [extra] : [])];
      settings.database_min_insert_block_size_bytes = run % 2 === 0 ? 100_000 : 1_000_000;
      settings.object_storage_max_file_count = 1 + (run % 3);
    },
    [Symbol.asyncDispose]: async () => inserter.close(),
  };
}

/** Objects below the size of a group are one block; here they must be several, to be found half loaded. */
function blocksOf(frozen: Readonly<Record<string, string | number>>): Record<string, number> {
  const bytes = Number(frozen.min_insert_block_size_bytes ?? 0);
  return { min_insert_block_size_rows: 7000, min_insert_block_size_bytes: bytes > 2 ** 31 ? 0 : bytes };
}

describeSource("objects", makeWorld);

describe("a load is frozen", () => {
  test("its statement and settings come from the intent, whatever was edited since", async () => {
    const source = await objectStorageConnector.open(
      { url: `${store.endpoint}/${store.bucket}/c/*.json`, accessKey: store.accessKey },
      contextWith([{ name: "id", type: "UInt32", sourceField: "id" }], {}),
      new AbortController().signal,
    );
    const batches: Batch[] = [];
    for await (const batch of source.read(new Map(), new AbortController().signal)) batches.push(batch);
    const edited = await objectStorageConnector.open(
      { url: `${store.endpoint}/other/c/*.json`, accessKey: store.accessKey, compression: "gzip" },
      contextWith([{ name: "x", type: "String", sourceField: "y" }], { database_min_insert_block_size_bytes: 1 }),
      new AbortController().signal,
    );
    const [first] = batches as [Batch];
    const again = await edited.replay(JSON.parse(JSON.stringify(first.replay)), new AbortController().signal);
    expect(again.inserts[0]?.sql).toBe(first.inserts[0]?.sql);
    expect(again.settings).toEqual(first.settings);
    expect(again.id).toBe(first.id);
    expect(JSON.stringify(first)).not.toContain(store.accessKey.secretKey);
    await source[Symbol.asyncDispose]();
    await edited[Symbol.asyncDispose]();
  });
});

function contextWith(columns: DestinationTable["columns"], settings: SourceContext["settings"]): SourceContext {
  return {
    ...{ pipeId: "p", epoch: 0, settings, concurrency: 1, destination: { database: "d", table: "t", columns } },
    ...{ report: () => {}, trouble: () => {}, marks: { get: async () => new Map() } },
    reject: async () => {},
    query: async () => [],
  };
}
