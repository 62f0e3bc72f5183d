/** A stream's source when the stream or the destination fails: bounded memory, trimmed records, bad responses. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryStream, record } from "../../../harness/kinesis/memory-stream.ts";
import { aggregated } from "../../../harness/kinesis/pipes.ts";
import { anyNetwork } from "../../../harness/network/network.ts";
import { until } from "../../../harness/serve.ts";
import { keptMarks, type OwnContext, testContext, testDestination } from "../../../harness/sources/source-context.ts";
import { AppError } from "../../lib/errors.ts";
import type { Json } from "../../lib/json.ts";
import { CheckRun } from "../contract/checks.ts";
import type { RejectedRecord, Batch as SourceBatch } from "../contract/source.ts";
import { JsonRows } from "../messages/formats/json-rows.ts";
import { type BatchLimits, batchLimits } from "../messages/limits.ts";
import { planRows } from "../messages/plan.ts";
import { managedStreamConnector } from "./connector.ts";
import { type KinesisDurable, kinesisShapes } from "./declaration/durable.ts";
import { finishedMark } from "./reading/shard-lineage.ts";
import { kinesisVirtualColumns, messagesOf } from "./records/message.ts";
import { StreamSource } from "./source.ts";

type Batch = SourceBatch<KinesisDurable>;

const config = { streamName: "s", region: "us-east-1" };

function shardOf(id: string, closed: boolean, count: number) {
  const records = Array.from({ length: count }, (_, index) => record(0, index, `{"a":"${"x".repeat(1_000)}"}`));
  return { id, parents: [], closed, records };
}

function sourceOf(api: MemoryStream, limits: Partial<BatchLimits> = {}, context: OwnContext<KinesisDurable> = {}) {
  return new StreamSource({
    config,
    context: testContext(context),
    api,
    fanOut: undefined,
    encoder: new JsonRows(planRows(testDestination, "JSONEachRow", kinesisVirtualColumns("s"))),
    limits: { ...batchLimits(1, 10), ...limits },
  });
}

const open: { stop: AbortController; over: Promise<unknown> }[] = [];
afterEach(async () => {
  for (const { stop } of open) stop.abort();
  await Promise.all(open.splice(0).map(({ over }) => over));
});

/** Reads in the background and keeps every batch; nothing is acknowledged. */
function reading(source: StreamSource, checkpoints: ReadonlyMap<string, string> = new Map()): Batch[] {
  const batches: Batch[] = [];
  const stop = new AbortController();
  const over = (async () => {
    for await (const batch of source.read(checkpoints, stop.signal)) batches.push(batch);
  })();
  open.push({ stop, over });
  return batches;
}

test("while nothing becomes durable, reading stops within the budget of memory, and goes on afterwards", async () => {
  const stream = new MemoryStream([shardOf("a", false, 3_000), shardOf("b", false, 3_000)], 50);
  const source = sourceOf(stream, { memoryBytes: 300_000, maxBytes: 60_000 });
  const batches = reading(source);
  const read = () => stream.calls.length * 50_000;
  await until("two batches are out", async () => batches.length === 2);
  let calls = -1;
  await until("no call is made any more", async () => {
    const before = calls;
    calls = stream.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 500));
    return read() >= 200_000 && before === stream.calls.length;
  });
  // The held bytes, and one response per shard that was in progress.
  expect(read()).toBeLessThan(300_000 + 2 * 60_000 + 2 * 50_000);
  for (const batch of [...batches]) await source.acknowledge(batch);
  await until("reading goes on", async () => stream.calls.length > calls);
});

test("a batch whose records were trimmed is repeated with what is left, and the error table says so", async () => {
  const shard = shardOf("a", false, 20);
  const stream = new MemoryStream([shard], 100);
  const source = sourceOf(stream);
  const batches = reading(source);
  await until("a batch", async () => batches.length === 1);
  const [batch] = batches as [Batch];
  const signal = new AbortController().signal;
  const again = await source.replay(batch.replay, signal);
  expect(String(again.inserts[0]?.body?.())).toBe(String(batch.inserts[0]?.body?.()));
  expect([again.id, again.checkpoint, again.rejected]).toEqual([batch.id, batch.checkpoint, []]);
  shard.records.splice(0, 5);
  const rest = await source.replay(batch.replay, signal);
  expect(String(rest.inserts[0]?.body?.()).trim().split("\n").length).toBe(15);
  expect([rest.id, rest.rejected?.length]).toEqual([batch.id, 1]);
  shard.records.splice(0);
  const none = await source.replay(batch.replay, signal);
  expect([none.inserts.length, none.rejected?.[0]?.message]).toEqual([0, expect.stringContaining("no longer has")]);
});

test("a shard that left the stream before its end is recorded once and its children are read", async () => {
  const stream = new MemoryStream([{ ...shardOf("child", false, 5), parents: ["gone"] }], 100);
  const marks = new Map<string, Json>();
  const rejected: RejectedRecord[] = [];
  const context: OwnContext<KinesisDurable> = {
    ledger: {
      ...keptMarks<KinesisDurable>(kinesisShapes, marks),
      reject: async (records) => void rejected.push(...records),
    },
  };
  const batches = reading(sourceOf(stream, {}, context), new Map([["gone", "12345"]]));
  await until("the child is read", async () => batches.length === 1);
  expect(rejected.map(({ origin }) => origin)).toEqual(["s/gone"]);
  expect(marks.has(finishedMark("gone"))).toBe(true);
});

const closedBefore = { type: "LATEST", ms: 0, known: ["a"], closed: ["a"] };
test.each<[string, ReadonlyMap<string, string>, Record<string, Json>]>([
  ["begins after the position in it", new Map([["a", "12345"]]), {}],
  ["is open although the pipe has finished it", new Map(), { [finishedMark("a")]: "finished" }],
  ["is open although it was closed before the pipe began", new Map(), { start: closedBefore }],
])("a stream whose shard %s was made again: nothing is read, and nothing recorded", async (_, checkpoints, saved) => {
  const { records, ...shard } = shardOf("a", false, 5);
  const stream = new MemoryStream([{ ...shard, records, first: records[0]?.sequence }], 100);
  const marks = new Map<string, Json>(Object.entries(saved));
  const rejected: RejectedRecord[] = [];
  const context: OwnContext<KinesisDurable> = {
    ledger: {
      ...keptMarks<KinesisDurable>(kinesisShapes, marks),
      reject: async (records) => void rejected.push(...records),
    },
  };
  const read = async () => {
    const gone = new Map([...checkpoints, ["gone", "12345"]]);
    for await (const _ of sourceOf(stream, {}, context).read(gone, AbortSignal.timeout(5_000)));
  };
  await expect(read()).rejects.toThrow('Stream "s" was deleted and created again: its a is another shard.');
  expect([stream.calls, rejected]).toEqual([[], []]);
});

test("two replicas read different shards, and a child only after the other replica finished its parent", async () => {
  const parents = ["shardId-000000000000", "shardId-000000000001", "shardId-000000000002", "shardId-000000000003"];
  const shards = parents.map((id) => shardOf(id, true, 3));
  const child = { ...shardOf("shardId-000000000004", false, 3), parents };
  const stream = new MemoryStream([...shards, child], 100);
  const marks = new Map<string, Json>();
  const replicas = [0, 1].map((index) => {
    const context: OwnContext<KinesisDurable> = {
      replica: { index, count: 2 },
      ledger: keptMarks<KinesisDurable>(kinesisShapes, marks),
    };
    const source = sourceOf(stream, {}, context);
    return { source, batches: reading(source) };
  });
  const confirmed = new Set<Batch>();
  const confirm = async () => {
    for (const { source, batches } of replicas) {
      for (const batch of batches.filter((one) => !confirmed.has(one))) {
        confirmed.add(batch);
        if (batch.lane === child.id) expect(parents.every((id) => marks.has(finishedMark(id)))).toBe(true);
        for (const [key, mark] of Object.entries(batch.marks ?? {})) marks.set(key, mark);
        await source.acknowledge(batch);
      }
    }
  };
  await until("the child is read", async () => {
    await confirm();
    return replicas.some(({ batches }) => batches.some((batch) => batch.lane === child.id));
  });
  const lanes = replicas.map(({ batches }) => new Set(batches.map((batch) => batch.lane)));
  expect([...(lanes[0] ?? [])].filter((lane) => lanes[1]?.has(lane))).toEqual([]);
  expect(lanes.every((set) => set.size > 0)).toBe(true);
});

test("a compressed message that unpacks to more than the limit is a rejected one", () => {
  const bomb = gzipSync(Buffer.alloc(17_000_000, 0x20));
  const { Data } = aggregated([
    { key: "k", data: bomb },
    { key: "k", data: gzipSync(`{"a":"1"}`) },
  ]);
  const [large, small] = [...messagesOf("a", record(0, 0, Data), "gzip")];
  expect(large?.problem).toContain("larger than 16000000 bytes");
  expect([small?.problem, String(small?.bytes), small?.position]).toEqual([
    undefined,
    `{"a":"1"}`,
    expect.stringMatching(/\.1$/),
  ]);
});

describe("an answer that refuses", () => {
  const check = async (body: object, status = 400, more: { timestamp?: number } = {}) => {
    const server = createServer((_, response) => {
      response.writeHead(status, { "Content-Type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const accessKey = { accessKeyId: "AKIA", secretKey: "very-secret" };
    const asked = {
      validateSamples: false,
      destination: testDestination,
      query: async () => [],
      pipeId: undefined,
      run: new CheckRun(),
      warn: () => {},
      marks: async () => ({}),
    };
    const options = { ...asked, network: anyNetwork };
    const failure = await managedStreamConnector
      .check({ ...config, ...more, endpoint, accessKey }, options, AbortSignal.timeout(9_000))
      .catch((thrown: { code: string; message: string }) => thrown);
    server.closeAllConnections();
    server.close();
    return failure ?? { code: "", message: "" };
  };

  test.each([
    ["UnrecognizedClientException", "SOURCE_UNAUTHORIZED", "accessKey or iamRole"],
    ["InvalidSignatureException", "SOURCE_UNAUTHORIZED", "accessKey or iamRole"],
    ["AccessDeniedException", "SOURCE_UNAUTHORIZED", "permissions"],
    ["KMSAccessDeniedException", "SOURCE_UNAUTHORIZED", "encrypts"],
    ["ResourceNotFoundException", "SOURCE_INVALID", 'Stream "s" does not exist'],
  ])("%s is %s", async (type, code, words) => {
    const failure = await check({ __type: type, message: `Stream s under account 1 very-secret ${type}` });
    expect([failure.code, failure.message]).toEqual([code, expect.stringContaining(words)]);
    expect(failure.message).not.toContain("very-secret");
  });

  test("a start in the future, or in milliseconds, is refused before the pipe is made", async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const at = async (timestamp: number) => await check({ Shards: [] }, 200, { timestamp });
    for (const timestamp of [seconds + 3_600, seconds * 1_000]) {
      expect(await at(timestamp)).toMatchObject({ issues: [{ path: "source.managedStream.timestamp" }] });
    }
    expect(await at(seconds - 60)).toEqual({ code: "", message: "" });
  });

  test("an internal error is an outage, after some attempts", async () => {
    expect((await check({ __type: "InternalFailureException" }, 500)).code).toBe("SOURCE_UNREACHABLE");
  });
});

test("the error of a shard is shown until that shard answers, however often the list of shards does", async () => {
  const stream = new MemoryStream([shardOf("a", false, 5)], 100);
  // Other errors are tried again within the same attempt to read.
  for (const message of ["Refused.", "Refused again."]) stream.faults.push(new AppError("SOURCE_LOST", message));
  const shown: (string | undefined)[] = [];
  const context: OwnContext<KinesisDurable> = { progress: { warn: (_key, message) => void shown.push(message) } };
  const source = sourceOf(stream, {}, context);
  const stop = new AbortController();
  const read = async () => {
    for await (const _ of source.read(new Map(), stop.signal)) stop.abort();
  };
  await expect(read()).rejects.toThrow("Refused.");
  await expect(read()).rejects.toThrow("Refused again.");
  expect(shown).toEqual(["Shard a cannot be read: Refused.", "Shard a cannot be read: Refused again."]);
  await read();
  expect(shown.slice(2)).toEqual([undefined]);
});
