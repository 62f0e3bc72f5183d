import { MemoryBroker, type MemoryPartitions } from "../../harness/kafka/memory-broker.ts";
import { anyNetwork } from "../../harness/network/network.ts";
import { keptMarks, testContext } from "../../harness/sources/source-context.ts";
import { type At, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import { Dialer } from "../../src/outgoing/dialer.ts";
import type { Source, SourceContext } from "../../src/sources/contract/source.ts";
import { noTopicId } from "../../src/sources/message-broker/broker-client.ts";
import { type KafkaDurable, kafkaShapes } from "../../src/sources/message-broker/declaration/durable.ts";
import type { MessageBrokerConfig } from "../../src/sources/message-broker/declaration/kind.ts";
import type { KafkaMessage } from "../../src/sources/message-broker/protocol/records.ts";
import { KafkaSource } from "../../src/sources/message-broker/source.ts";
import { messageFormatOf } from "../../src/sources/messages/formats/rows.ts";

/** Two partitions with a gap, a tombstone, text that is not JSON, and a value that the engine refuses. */
const partitions: MemoryPartitions = new Map([
  [0, new Map(Array.from({ length: 9 }, (_, at) => [at < 4 ? at : at + 3, `{"a":"p0-${at}"}`] as const))],
  [
    1,
    new Map<number, string | null>([
      [0, '{"a":"p1-0"}'],
      [1, null],
      [2, "no json"],
      [3, '{"a":"bad"}'],
      [4, '{"a":"p1-4"}'],
      [5, '{"a":"bad"}'],
      [6, '{"a":"p1-6"}'],
    ]),
  ],
]);
const endOf = (partition: number) => Math.max(...(partitions.get(partition)?.keys() ?? [])) + 1;

/** There is no group to join. */
const alone = () => ({ identity: () => undefined, leave: async () => {} });

const config: MessageBrokerConfig = { brokers: "memory:1", topics: "t" };
let lives = 0;

function contextOf(world: World, at: At): SourceContext<KafkaDurable> {
  return testContext({
    // Each worker cuts batches of another size: by age, and by bytes.
    settings: { streaming_max_insert_wait_ms: 1 + (lives % 3) * 3 },
    memoryGb: lives % 2 === 0 ? 1 : 0.000_002,
    ledger: keptMarks<KafkaDurable>(kafkaShapes, world.marks, at, (counts) => world.count(counts)),
    destination: {
      query: async (sql) => {
        if (sql.startsWith("SELECT number")) throw new ClickHouseError(27, 400, "Code: 27. Cannot parse");
        if (sql.includes('"bad"')) throw new ClickHouseError(27, 400, "Code: 27. Cannot parse");
        return [];
      },
    },
  });
}

/** A topic has no end; this one ends when every partition was handed out completely. */
function untilEnd(source: Source<KafkaDurable>): Source<KafkaDurable> {
  return {
    replay: (replay, signal) => source.replay(replay, signal),
    refused: (batch, failure, signal) => source.refused(batch, failure, signal),
    acknowledge: (batch) => source.acknowledge(batch),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
    async *read(checkpoints, signal) {
      const next = new Map([...checkpoints].map(([lane, at]) => [lane, at.next]));
      const over = () =>
        [...partitions.keys()].every((partition) => (next.get(`t/${partition}`) ?? 0) >= endOf(partition));
      if (over()) return;
      for await (const batch of source.read(checkpoints, signal)) {
        yield batch;
        next.set(batch.lane, batch.checkpoint?.next ?? 0);
        if (over()) return;
      }
    },
  };
}

const expected = [...partitions.values()]
  .flatMap((records) => [...records.values()])
  .filter((value): value is string => value?.startsWith("{") === true && !value.includes("bad"));

describeSource("Kafka", () => ({
  durable: kafkaShapes,
  open: async (world, at) => {
    lives += 1;
    // Some brokers of a cluster that is being upgraded have no topic ids.
    const topicId = lives % 3 === 0 ? noTopicId : "topic-id";
    const client = new MemoryBroker({ partitions, batchRecords: 1 + (lives % 4), topicId });
    const rows = await messageFormatOf<KafkaMessage>(config, new Dialer(anyNetwork.policy, "schemaRegistry.url"));
    return untilEnd(new KafkaSource({ config, context: contextOf(world, at), client, rows, join: alone }));
  },
  expected,
  // The tombstone.
  skipped: 1,
  rowsOf: async (insert) => {
    const text = String(insert.body?.() ?? "");
    return text.split("\n").filter((line) => line !== "");
  },
  engineError: (rows) =>
    rows.some((row) => row.includes("bad"))
      ? new ClickHouseError(
          27,
          400,
          `Code: 27. Cannot parse: (at row ${rows.findIndex((row) => row.includes("bad")) + 1})`,
        )
      : undefined,
  rejected: 3,
}));
