import { createRecordsBatch } from "@platformatic/kafka";
import { anyNetwork } from "../../harness/network/network.ts";
import { keptMarks, testContext } from "../../harness/sources/source-context.ts";
import { type At, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import { Dialer } from "../../src/outgoing/dialer.ts";
import type { Source, SourceContext } from "../../src/sources/contract/source.ts";
import {
  type AnswerMemory,
  type BrokerClient,
  type FetchedPartition,
  type FetchRequest,
  noTopicId,
} from "../../src/sources/message-broker/broker-client.ts";
import { type KafkaDurable, kafkaShapes } from "../../src/sources/message-broker/declaration/durable.ts";
import type { MessageBrokerConfig } from "../../src/sources/message-broker/declaration/kind.ts";
import type { KafkaMessage } from "../../src/sources/message-broker/protocol/records.ts";
import { KafkaSource } from "../../src/sources/message-broker/source.ts";
import { messageFormatOf } from "../../src/sources/messages/formats/rows.ts";

/** Two partitions with a gap, a tombstone, text that is not JSON, and a value that the engine refuses. */
const partitions: ReadonlyMap<number, ReadonlyMap<number, string | null>> = new Map([
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

/** A broker in memory with batches of up to `batchRecords` records; one batch per answer. */
/** There is no group to join. */
const alone = () => ({ identity: () => undefined, leave: async () => {} });

class MemoryBroker implements BrokerClient {
  readonly clusterId = "cluster";
  readonly #batchRecords: number;
  readonly #topicId: string;
  readonly decompress = { snappy: (data: Buffer) => data, lz4: (data: Buffer) => data };

  constructor(batchRecords: number, topicId: string) {
    this.#batchRecords = batchRecords;
    this.#topicId = topicId;
  }

  async topics() {
    return [
      {
        name: "t",
        id: this.#topicId,
        partitions: [...partitions.keys()].map((partition) => ({ partition, leader: 1 })),
      },
    ];
  }

  async offsets(of: readonly { topic: string; partition: number }[], at: "earliest" | "latest" | number) {
    return of.map((name) => ({ ...name, offset: at === "earliest" ? 0 : endOf(name.partition) }));
  }

  async fetch(_broker: number, wanted: readonly FetchRequest[], _wait: number, memory?: AnswerMemory) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const records = wanted.map(({ partition, position }) => this.#records(partition, position));
    // Like a socket: into the given memory, over the remains of an earlier response.
    const answer = memory?.take(4096) ?? Buffer.alloc(4096);
    answer.fill("x");
    let end = 0;
    return wanted.map(({ topic, partition }, index): FetchedPartition => {
      const start = end;
      end += (records[index] as Buffer).copy(answer, start);
      const lastStable = endOf(partition);
      return { topic, partition, errorCode: 0, lastStable, aborted: [], records: answer.subarray(start, end) };
    });
  }

  #records(partition: number, position: number): Buffer {
    const all = [...(partitions.get(partition) as ReadonlyMap<number, string | null>)].filter(([at]) => at >= position);
    const taken = all.slice(0, this.#batchRecords);
    const batches = taken.map(([offset, value]) => {
      const message = { topic: "t", value: (value === null ? null : Buffer.from(value)) as Buffer, timestamp: 1n };
      const batch = createRecordsBatch([message]).buffer;
      batch.writeBigInt64BE(BigInt(offset), 0);
      return batch;
    });
    return Buffer.concat(batches);
  }

  async commit(): Promise<void> {}

  async committed() {
    return [];
  }

  async close(): Promise<void> {}
}

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
    const client = new MemoryBroker(1 + (lives % 4), lives % 3 === 0 ? noTopicId : "topic-id");
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
