/** Answers of a stream that lies: lists without end, circles of shards, records without positions, broken frames. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { cpuMs } from "../../../../harness/cpu-time.ts";
import { frame } from "../../../../harness/kinesis/http2.ts";
import { MemoryStream } from "../../../../harness/kinesis/memory-stream.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { Dice } from "../../../../harness/random.ts";
import { testContext, testDestination } from "../../../../harness/sources/source-context.ts";
import { AppError } from "../../../lib/errors.ts";
import { JsonRows } from "../../messages/formats/json-rows.ts";
import { batchLimits } from "../../messages/limits.ts";
import { planRows } from "../../messages/plan.ts";
import { circleOf } from "../reading/shard-lineage.ts";
import { kinesisVirtualColumns } from "../records/message.ts";
import { StreamSource } from "../source.ts";
import { StreamError, type StreamRecord } from "../stream.ts";
import { KinesisStream } from "./client.ts";
import { FanOutClient } from "./fan-out-client.ts";

const open: Server[] = [];
const clients: { close(): void }[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (operation: string, response: ServerResponse) => void;

async function configOf(answer: Answer) {
  const server = createServer(async (request, response) => {
    await text(request);
    answer(String(request.headers["x-amz-target"]).split(".")[1] ?? "", response);
  });
  open.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { streamName: "s", region: "us-east-1", endpoint, accessKey: { accessKeyId: "a", secretKey: "s" } };
}

async function streamOf(answer: Answer): Promise<KinesisStream> {
  const stream = new KinesisStream(await configOf(answer), anyNetwork);
  clients.push(stream);
  return stream;
}

async function fanOutOf(answer: Answer): Promise<FanOutClient> {
  const client = new FanOutClient(await configOf(answer), anyNetwork);
  clients.push(client);
  return client;
}

const never = new AbortController().signal;
const json = "application/x-amz-json-1.1";
const say = (response: ServerResponse, body: object) => {
  response.setHeader("content-type", json);
  response.end(JSON.stringify(body));
};

test.each([
  ["shards", (page: number) => Array.from({ length: 1_000 }, (_, at) => ({ ShardId: `shard-${page}-${at}` }))],
  ["nothing", () => []],
])("a list of shards without end that brings %s is refused", async (_, shardsOf) => {
  let page = 0;
  const stream = await streamOf((_, response) => {
    page += 1;
    say(response, { Shards: shardsOf(page), NextToken: `token ${page}` });
  });
  await expect(stream.shards(never)).rejects.toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringContaining("lists more than 100000 shards"),
  });
  expect(page).toBeLessThanOrEqual(1_001);
});

test.each(["", "a b", "../x", "s".repeat(129)])("a shard with the id %j is refused", async (ShardId) => {
  const stream = await streamOf((_, response) => say(response, { Shards: [{ ShardId }] }));
  await expect(stream.shards(never)).rejects.toThrow("lists a shard with an id that no shard has");
});

test.each([undefined, "", "-1", "01", "1.5", "1e9", "x", "9".repeat(200)])(
  "a record with the sequence number %j is refused",
  async (SequenceNumber) => {
    const record = { SequenceNumber, PartitionKey: "k", Data: "YQ==" };
    const stream = await streamOf((_, response) => say(response, { Records: [record], NextShardIterator: "i" }));
    await expect(stream.records("i", 10, never)).rejects.toThrow("sequence number that is not a number");
    const fanOut = await fanOutOf((_, response) => subscribed(response, [eventOf({ Records: [record] })]));
    await expect(all(fanOut.subscribe("arn:c", "a", { from: "horizon" }, never))).rejects.toThrow(
      "sequence number that is not a number",
    );
  },
);

const facts = (id: string, parents: readonly string[]) => ({ id, parents, closed: true, records: [] });

test.each([
  ["its own parent", [facts("a", ["a"])], "a"],
  ["the parent of its parent", [facts("x", []), facts("a", ["b"]), facts("b", ["a"])], "[ab]"],
  ["its own great-grandparent", [facts("a", ["x", "c"]), facts("b", ["a"]), facts("c", ["b", "a"])], "[abc]"],
])("a shard that is %s is told, and nothing waits for it silently", async (_, shards, name) => {
  const source = new StreamSource({
    config: { streamName: "s", region: "us-east-1" },
    context: testContext(),
    api: new MemoryStream(shards, 10),
    fanOut: undefined,
    encoder: new JsonRows(planRows(testDestination, "JSONEachRow", kinesisVirtualColumns("s"))),
    limits: batchLimits(1, 10),
  });
  await expect(all(source.read(new Map(), never))).rejects.toThrow(
    new RegExp(`lists shard ${name} among its own ancestors`),
  );
});

test("a shard is in no circle exactly when its turn comes, in every graph of shards", () => {
  const parents = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 2 });
  const graph = fc.array(parents, { minLength: 1, maxLength: 8 });
  const property = fc.property(graph, (given) => {
    const listed = given.map((ids, at) => facts(String(at), ids.map(String)));
    const done = new Set<string>();
    const isListed = (id: string) => Number(id) < listed.length;
    for (let before = -1; done.size > before; ) {
      before = done.size;
      for (const { id, parents: of } of listed) if (of.every((one) => done.has(one) || !isListed(one))) done.add(id);
    }
    const circle = circleOf(listed);
    if (done.size === listed.length) expect(circle).toBeUndefined();
    else expect([circle !== undefined, done.has(circle ?? "")]).toEqual([true, false]);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("100,000 shards in a row, the last one first, are looked through at once", async () => {
  const listed = Array.from({ length: 100_000 }, (_, at) => facts(String(at), [String(at + 1)]));
  const taken = await cpuMs(() => expect(circleOf(listed)).toBeUndefined());
  expect(taken).toBeLessThan(5_000);
});

const hostileValues: readonly unknown[] = [
  ...[null, true, -1, 1e308, "", "text", [], {}, [[]], "9".repeat(400), "\u0000\u202e", { __proto__: { a: 1 } }],
  ...["2020-01-01", "1e999", "NaN", [null], [{ Data: 5 }], [{ SequenceNumber: [] }], "AAAA".repeat(1_000)],
];
const members = ["Records", "NextShardIterator", "MillisBehindLatest", "ChildShards", "Shards", "NextToken"];
const recordMembers = ["SequenceNumber", "Data", "PartitionKey", "ApproximateArrivalTimestamp", "EncryptionType"];

/** A right answer with wrong members. */
function wrongAnswer(dice: Dice): object {
  const record: Record<string, unknown> = {
    SequenceNumber: String(1 + dice.below(99)),
    Data: "YQ==",
    PartitionKey: "k",
  };
  while (dice.chance(0.6)) record[dice.pick(recordMembers)] = dice.pick(hostileValues);
  const answer: Record<string, unknown> = { Records: [record], NextShardIterator: "i", MillisBehindLatest: 1 };
  if (dice.chance(0.5)) answer.ShardIterator = dice.pick(hostileValues);
  while (dice.chance(0.5)) answer[dice.pick(members)] = dice.pick(hostileValues);
  return answer;
}

function eventOf(event: object): Buffer {
  const headers = {
    ":message-type": "event",
    ":event-type": "SubscribeToShardEvent",
    ":content-type": "application/json",
  };
  return frame(headers, JSON.stringify(event));
}

function subscribed(response: ServerResponse, frames: readonly Buffer[]): void {
  response.setHeader("content-type", "application/vnd.amazon.eventstream");
  response.write(frame({ ":message-type": "event", ":event-type": "initial-response" }, "{}"));
  for (const one of frames) response.write(one);
  response.end();
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Bit flips, cuts and other lengths. */
function broken(bytes: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(bytes);
  for (let left = 1 + dice.below(4); left > 0; left -= 1) {
    const at = dice.below(copy.length);
    if (dice.chance(0.5)) copy[at] = (copy[at] ?? 0) ^ (1 << dice.below(8));
    else if (copy.length >= 4)
      copy.writeUInt32BE(dice.pick([0, 1, 4, 15, 16, 2 ** 31, 2 ** 32 - 1]), dice.pick([0, 4]));
  }
  return dice.chance(0.3) ? copy.subarray(0, 1 + dice.below(copy.length)) : copy;
}

/** Every outcome but a well-formed one and an error with a reason fails the test. */
async function outcomeOf(work: Promise<readonly StreamRecord[]>): Promise<"read" | "refused"> {
  try {
    for (const { sequence, key, data, arrivalMs } of await work) {
      expect(sequence).toMatch(/^\d{1,129}$/);
      expect([typeof key, data instanceof Uint8Array, Number.isFinite(arrivalMs)]).toEqual(["string", true, true]);
    }
    return "read";
  } catch (error) {
    const isTold = error instanceof AppError || error instanceof StreamError;
    if (!isTold) throw error;
    expect((error as Error).message.length).toBeLessThan(1_000);
    return "refused";
  }
}

const seed = 20_261;

test("wrong members, broken JSON and other bodies of answers are read right or refused", async () => {
  const dice = new Dice(seed);
  const stream = await streamOf((_, response) => {
    const right = Buffer.from(JSON.stringify(wrongAnswer(dice)));
    response.setHeader("content-type", dice.pick([json, json, json, "application/cbor", "text/html", ""]));
    response.statusCode = dice.pick([200, 200, 200, 200, 204, 400, 500, 302]);
    response.end(dice.chance(0.3) ? broken(right, dice) : right);
  });
  const seen = { read: 0, refused: 0 };
  for (let round = 0; round < 1_500; round += 1) {
    seen[await outcomeOf(stream.records("i", 10, never).then(({ records }) => records))] += 1;
    await outcomeOf(stream.shards(never).then(() => []));
    await outcomeOf(stream.iterator("a", { from: "horizon" }, never).then(() => []));
  }
  expect(seen.read).toBeGreaterThan(50);
  expect(seen.refused).toBeGreaterThan(50);
});

test("broken and wrong events of a subscription are read right or refused", async () => {
  const dice = new Dice(seed + 1);
  const fanOut = await fanOutOf((_, response) => {
    const frames = Array.from({ length: 1 + dice.below(3) }, () => {
      const right = eventOf(wrongAnswer(dice));
      return dice.chance(0.5) ? broken(right, dice) : right;
    });
    subscribed(response, frames);
  });
  const seen = { read: 0, refused: 0 };
  for (let round = 0; round < 1_500; round += 1) {
    const events = all(fanOut.subscribe("arn:c", "a", { from: "horizon" }, never));
    seen[await outcomeOf(events.then((pushed) => pushed.flatMap(({ records }) => records)))] += 1;
  }
  expect(seen.read).toBeGreaterThan(50);
  expect(seen.refused).toBeGreaterThan(50);
});

test.each([0, 3, 15, 33 * 2 ** 20, 2 ** 32 - 1])(
  "a message of an event stream that announces %d bytes is refused before they arrive",
  async (announced) => {
    const fanOut = await fanOutOf((_, response) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(announced);
      response.setHeader("content-type", "application/vnd.amazon.eventstream");
      response.write(frame({ ":message-type": "event", ":event-type": "initial-response" }, "{}"));
      // And then it says nothing more.
      response.write(length);
    });
    const before = process.memoryUsage().arrayBuffers;
    await expect(all(fanOut.subscribe("arn:c", "a", { from: "horizon" }, never))).rejects.toMatchObject({
      code: "SOURCE_UNREACHABLE",
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 2 ** 20);
  },
);
