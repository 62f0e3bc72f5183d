import { createRecordsBatch } from "@platformatic/kafka";
import { expect, test } from "vitest";
import { testContext } from "../../../harness/sources/source-context.ts";
import { JsonRows } from "../messages/formats/json-rows.ts";
import { LaneBatches } from "../messages/lane-batches.ts";
import { batchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { planRows } from "../messages/plan.ts";
import { type BrokerClient, type FetchRequest, noTopicId } from "./broker-client.ts";
import type { KafkaDurable } from "./declaration/durable.ts";
import { Lag } from "./lag.ts";
import { PartitionReader } from "./partition-reader.ts";
import type { KafkaMessage } from "./protocol/records.ts";
import { Troubles } from "./troubles.ts";

const total = 40;
const columns = [{ name: "a", type: "String", sourceField: "a" }];

/** Partition 0 has rows, partition 1 has none. As a broker, it holds an answer without records until one arrives. */
function broker(stop: AbortSignal): BrokerClient {
  const value = Buffer.from('{"a":"b"}');
  const records = (position: number) => {
    const batch = createRecordsBatch([{ topic: "t", value, timestamp: 1n } as never]).buffer;
    batch.writeBigInt64BE(BigInt(position), 0);
    return batch;
  };
  const refused = async () => Promise.reject(new Error("is not asked here"));
  return {
    topics: async () => [
      { name: "t", id: noTopicId, partitions: [0, 1].map((partition) => ({ partition, leader: 1 })) },
    ],
    offsets: async (of) => of.map((name) => ({ ...name, offset: 0 })),
    fetch: async (_broker, wanted: readonly FetchRequest[], maxWaitMs) => {
      const hasRecords = wanted.some(({ partition, position }) => partition === 0 && position < total);
      if (!hasRecords && maxWaitMs > 0) await new Promise((resolve) => stop.addEventListener("abort", resolve));
      return wanted.map(({ topic, partition, position }) => ({
        ...{ topic, partition, errorCode: 0, aborted: [], lastStable: partition === 0 ? total : 0 },
        records: partition === 0 && position < total ? records(position) : Buffer.alloc(0),
      }));
    },
    commit: refused,
    committed: refused,
    clusterId: null,
    decompress: { snappy: (data) => data, lz4: (data) => data },
    close: async () => {},
  };
}

test("a partition that has room again is read although nothing arrives in the others", async () => {
  const stop = new AbortController();
  const encoder = new JsonRows<KafkaMessage>(planRows({ database: "d", table: "t", columns }, "JSONEachRow", {}));
  const batches = new LaneBatches<KafkaMessage>(
    // Each row is a batch: the next one waits for room.
    { ...batchLimits(1, 60_000), maxRows: 1 },
    (origin, start) => new MessageBatch({ encoder, origin, maxMessageBytes: 1_000, ...start }),
  );
  const parts = {
    ...{ client: broker(stop.signal), topics: ["t"], start: {}, encoder, batches },
    context: testContext<KafkaDurable>(),
    lag: new Lag(() => {}),
    troubles: new Troubles(() => {}),
  };
  const reading = new PartitionReader(parts, new Map(), stop.signal).run();
  let next: unknown = 0;
  while (Number(next) < total) {
    const closed = await batches.next(stop.signal);
    next = closed?.next;
    // Time in which the reader asks for what it has room for, which is the other partition alone.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    if (closed !== undefined) batches.done(closed.lane);
  }
  expect(next).toBe(total);
  stop.abort();
  await reading;
});
