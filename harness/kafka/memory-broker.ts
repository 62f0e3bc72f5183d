import { createRecordsBatch } from "@platformatic/kafka";
import type {
  AnswerMemory,
  BrokerClient,
  FetchedPartition,
  FetchRequest,
  PartitionName,
} from "../../src/sources/message-broker/broker-client.ts";

/** The records of partitions by their offsets. */
export type MemoryPartitions = ReadonlyMap<number, ReadonlyMap<number, string | null>>;

type MemoryTopic = {
  readonly partitions: MemoryPartitions;
  readonly batchRecords: number;
  readonly topicId: string;
};

/**
 * A broker in memory. Records come in answers of up to `batchRecords`, one batch each, and are `null` for a tombstone.
 * An answer without records is held until the broker is closed, unless the request does not wait for any.
 */
export class MemoryBroker implements BrokerClient {
  readonly clusterId = "cluster";
  readonly #topic: MemoryTopic;
  readonly #closed = Promise.withResolvers<void>();
  readonly decompress = { snappy: (data: Buffer) => data, lz4: (data: Buffer) => data };

  constructor(topic: MemoryTopic) {
    this.#topic = topic;
  }

  async topics() {
    const partitions = [...this.#topic.partitions.keys()].map((partition) => ({ partition, leader: 1 }));
    return [{ name: "t", id: this.#topic.topicId, partitions }];
  }

  async offsets(of: readonly PartitionName[], at: "earliest" | "latest" | number) {
    return of.map((name) => ({ ...name, offset: at === "earliest" ? 0 : this.#endOf(name.partition) }));
  }

  async fetch(_broker: number, wanted: readonly FetchRequest[], maxWaitMs: number, memory?: AnswerMemory) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const records = wanted.map(({ partition, position }) => this.#records(partition, position));
    if (maxWaitMs > 0 && records.every(({ length }) => length === 0)) await this.#closed.promise;
    // Like a socket: into the given memory, over the remains of an earlier response.
    const answer = memory?.take(4096) ?? Buffer.alloc(4096);
    answer.fill("x");
    let end = 0;
    return wanted.map(({ topic, partition }, index): FetchedPartition => {
      const start = end;
      end += (records[index] as Buffer).copy(answer, start);
      const lastStable = this.#endOf(partition);
      return { topic, partition, errorCode: 0, lastStable, aborted: [], records: answer.subarray(start, end) };
    });
  }

  #endOf(partition: number): number {
    return Math.max(-1, ...(this.#topic.partitions.get(partition)?.keys() ?? [])) + 1;
  }

  #records(partition: number, position: number): Buffer {
    const all = [...(this.#topic.partitions.get(partition) ?? [])].filter(([at]) => at >= position);
    const taken = all.slice(0, this.#topic.batchRecords);
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

  async close(): Promise<void> {
    this.#closed.resolve();
  }
}
