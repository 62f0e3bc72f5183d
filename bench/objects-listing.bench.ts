/** The cost of a poll as history grows: LIST calls and milliseconds with 1,000, 10,000 and 100,000 old keys. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { anyNetwork } from "../harness/network/network.ts";
import { keptMarks, testContext } from "../harness/sources/source-context.ts";
import type { Json } from "../src/lib/json.ts";
import { type ObjectDurable, objectShapes } from "../src/sources/object-storage/durable.ts";
import type { ObjectStorageConfig } from "../src/sources/object-storage/kind.ts";
import { ObjectSource } from "../src/sources/object-storage/source.ts";
import { parseUrl } from "../src/sources/object-storage/stores/location.ts";
import { S3Store } from "../src/sources/object-storage/stores/s3.ts";
import type { Batch, SourceContext } from "../src/sources/source.ts";
import { type BenchResult, round } from "./bench.ts";

export const description = "LIST calls and ms per poll with 1 k, 10 k and 100 k old keys: flat";

const histories = [1_000, 10_000, 100_000];
const polls = 30;

export async function run(): Promise<BenchResult> {
  const rows = [];
  for (const history of histories) rows.push({ oldKeys: history, ...(await measure(history)) });
  const [first, last] = [rows[0], rows.at(-1)] as [(typeof rows)[0], (typeof rows)[0]];
  const flat = { callsWith1k: first.listCallsPerPoll, callsWith100k: last.listCallsPerPoll };
  const times = { msWith1k: first.msPerPoll, msWith100k: last.msPerPoll };
  return { rows, summary: { ratio: round(first.msPerPoll / last.msPerPoll, 2), ...flat, ...times } };
}

/** The real listing code against a server that answers ListObjectsV2 from memory, so that only its own cost counts. */
async function measure(history: number) {
  const keys = Array.from({ length: history }, (_, i) => `in/${String(i).padStart(8, "0")}.json`);
  let calls = 0;
  let busyMs = 0;
  const server = createServer((request, response) => {
    const started = performance.now();
    calls += 1;
    const after = new URL(request.url ?? "/", "http://host").searchParams.get("start-after") ?? "";
    const from = after === "" ? 0 : lowerBound(keys, after);
    const page = keys.slice(from, from + 1000);
    const contents = page
      .map((key) => `<Contents><Key>${key}</Key><ETag>"e"</ETag><Size>10</Size></Contents>`)
      .join("");
    const truncated = from + 1000 < keys.length;
    response.end(`<ListBucketResult><IsTruncated>${truncated}</IsTruncated>${contents}</ListBucketResult>`);
    busyMs += performance.now() - started;
  }).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket/in/*.json`;
  const config: ObjectStorageConfig = { url, isContinuous: true, format: "JSONEachRow" };
  const marks = new Map<string, Json>(keys.map((key) => [`o:${key}`, { etag: "e", result: "loaded" }]));
  const location = parseUrl(url);
  const source = new ObjectSource({
    config,
    context: contextOf(marks),
    store: new S3Store(location, config, anyNetwork),
    pattern: location.pattern,
  });
  const stop = new AbortController();
  const reading = drain(source.read(new Map(), stop.signal));
  while (!marks.has("cursor:0/1")) await delay(5);
  await delay(50);
  const [callsBefore, busyBefore, started] = [calls, busyMs, performance.now()];
  const cpu = process.cpuUsage();
  while (calls - callsBefore < polls * 2) await delay(5);
  const used = process.cpuUsage(cpu);
  const elapsed = (performance.now() - started) / pollMs;
  stop.abort();
  await reading.catch(() => {});
  await source[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
  const ownMs = (used.user + used.system) / 1000 - (busyMs - busyBefore);
  return {
    startCalls: callsBefore,
    listCallsPerPoll: round((calls - callsBefore) / Math.max(1, Math.round(elapsed)), 1),
    msPerPoll: round(ownMs / polls, 2),
  };
}

const pollMs = 100;

function contextOf(marks: Map<string, Json>): SourceContext<ObjectDurable> {
  return testContext({
    settings: { object_storage_polling_interval_ms: pollMs, object_storage_max_file_count: 100 },
    ledger: keptMarks<ObjectDurable>(objectShapes, marks),
  });
}

async function drain(batches: AsyncIterable<Batch>): Promise<void> {
  for await (const batch of batches) throw new Error(`batch ${batch.id} of keys that are all loaded`);
}

/** Index of the first key greater than the given one. */
function lowerBound(keys: readonly string[], after: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
