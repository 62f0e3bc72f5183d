import { expect, test } from "vitest";
import { MemoryBroker, type MemoryPartitions } from "../../../harness/kafka/memory-broker.ts";
import { testContext } from "../../../harness/sources/source-context.ts";
import { JsonRows } from "../messages/formats/json-rows.ts";
import { LaneBatches } from "../messages/lane-batches.ts";
import { batchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { planRows } from "../messages/plan.ts";
import { noTopicId } from "./broker-client.ts";
import type { KafkaDurable } from "./declaration/durable.ts";
import { Lag } from "./lag.ts";
import { PartitionReader } from "./partition-reader.ts";
import type { KafkaMessage } from "./protocol/records.ts";
import { Troubles } from "./troubles.ts";

const total = 40;
/** Partition 0 has rows, partition 1 has none. */
const partitions: MemoryPartitions = new Map([
  [0, new Map(Array.from({ length: total }, (_, at) => [at, '{"a":"b"}']))],
  [1, new Map()],
]);
const columns = [{ name: "a", type: "String", sourceField: "a" }];

test("a partition that has room again is read although nothing arrives in the others", async () => {
  const stop = new AbortController();
  const client = new MemoryBroker({ partitions, batchRecords: 1, topicId: noTopicId });
  const encoder = new JsonRows<KafkaMessage>(planRows({ database: "d", table: "t", columns }, "JSONEachRow", {}));
  const batches = new LaneBatches<KafkaMessage>(
    // Each row is a batch: the next one waits for room.
    { ...batchLimits(1, 60_000), maxRows: 1 },
    (origin, start) => new MessageBatch({ encoder, origin, maxMessageBytes: 1_000, ...start }),
  );
  const parts = {
    ...{ client, topics: ["t"], start: {}, encoder, batches },
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
