/**
 * Enhanced fan-out as AWS implements it: HTTP/2, subscriptions that end and are renewed, a shard's end, errors in
 * between.
 */
import { setDefaultCACertificates } from "node:tls";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Http2Kinesis, startHttp2Kinesis } from "../../../../harness/kinesis/http2.ts";
import { MemoryStream } from "../../../../harness/kinesis/memory-stream.ts";
import { loopbackCertificate } from "../../../../harness/network/loopback-certificate.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { FanOutClient } from "../client/fan-out-client.ts";
import type { StartAt } from "../stream.ts";
import { listen } from "./fan-out.ts";

let kinesis: Http2Kinesis;
let client: FanOutClient;
const endless = new AbortController().signal;

beforeAll(() => setDefaultCACertificates([loopbackCertificate.cert]));

beforeEach(async () => {
  kinesis = await startHttp2Kinesis();
  const accessKey = { accessKeyId: "a", secretKey: "s" };
  const config = { streamName: "s", region: "us-east-1", endpoint: kinesis.endpoint, accessKey };
  client = new FanOutClient(config, anyNetwork);
});
afterEach(async () => {
  client.close();
  await kinesis[Symbol.asyncDispose]();
});

const event = (sequences: readonly string[], continuation: string | undefined, more: object = {}) => ({
  Records: sequences.map((SequenceNumber) => ({
    SequenceNumber,
    PartitionKey: "k",
    Data: Buffer.from(`data ${SequenceNumber}`).toString("base64"),
    ApproximateArrivalTimestamp: 1_700_000_000.5,
  })),
  ...(continuation === undefined ? {} : { ContinuationSequenceNumber: continuation }),
  MillisBehindLatest: 7,
  ...more,
});
const lastEvent = (sequences: readonly string[]) =>
  event(sequences, undefined, { ChildShards: [{ ShardId: "child", ParentShards: ["a"], HashKeyRange: {} }] });

async function read(signal = endless, isClosed = () => false) {
  const seen: string[] = [];
  const stream = new MemoryStream([{ id: "a", parents: [], closed: true, records: [] }], 10);
  const from = (): StartAt => ({ from: "horizon" });
  for await (const fetched of listen({ api: stream, fanOut: client, consumer: "arn:c" }, "a", from, isClosed, signal)) {
    seen.push(...fetched.records.map((one) => `${one.sequence} ${Buffer.from(one.data)} ${one.arrivalMs}`));
    if (fetched.ended) seen.push("ended");
  }
  return seen;
}

test("a consumer is made once and waited for until it is active", async () => {
  expect(await client.register("c", endless)).toBe("arn:c");
  expect(kinesis.calls).toEqual([
    "DescribeStreamSummary",
    "DescribeStreamConsumer",
    "RegisterStreamConsumer",
    "DescribeStreamConsumer",
    "DescribeStreamConsumer",
  ]);
});

test("a subscription that ends is renewed behind what it has reached, until the shard's end", async () => {
  const starts: object[] = [];
  kinesis.plan.push(
    (subscription) => {
      starts.push(subscription.start);
      subscription.send(event(["11", "12"], "12"));
      // No records, but a new position.
      subscription.send(event([], "20"));
      subscription.end();
    },
    (subscription) => {
      starts.push(subscription.start);
      subscription.send(event(["21"], "21"));
      subscription.send(lastEvent(["22"]));
      subscription.end();
    },
  );
  const row = (sequence: string) => `${sequence} data ${sequence} 1700000000500`;
  expect(await read()).toEqual([row("11"), row("12"), row("21"), row("22"), "ended"]);
  expect(starts).toEqual([{ Type: "TRIM_HORIZON" }, { Type: "AFTER_SEQUENCE_NUMBER", SequenceNumber: "20" }]);
});

test("a shard that another subscription still holds, throttling, and an error within a subscription are waited out", async () => {
  kinesis.plan.push(
    "ResourceInUseException",
    "LimitExceededException",
    (subscription) => {
      subscription.send(event(["11"], "11"));
      subscription.send({ message: "planned" }, "InternalFailureException");
      subscription.end();
    },
    (subscription) => {
      expect(subscription.start).toEqual({ Type: "AFTER_SEQUENCE_NUMBER", SequenceNumber: "11" });
      subscription.send(lastEvent(["12"]));
      subscription.end();
    },
  );
  expect((await read()).map((line) => line.split(" ")[0])).toEqual(["11", "12", "ended"]);
});

test("aborting ends an open subscription at both ends", async () => {
  const stop = new AbortController();
  const closed = Promise.withResolvers<void>();
  kinesis.plan.push((subscription) => {
    subscription.send(event(["11"], "11"));
    void subscription.closed.then(closed.resolve);
    setTimeout(() => stop.abort(), 50);
  });
  expect((await read(stop.signal)).length).toBe(1);
  await closed.promise;
});

test("a server that keeps a subscription to a drained shard open does not hold up its children", async () => {
  kinesis.plan.push((subscription) => {
    subscription.send(event(["11"], "11"));
    subscription.send(event([], "11"));
  });
  expect((await read(endless, () => true)).at(-1)).toBe("ended");
});
