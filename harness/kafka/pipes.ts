/** Kafka pipes in tests: topics, messages, and the pipe that reads them. */
import { Admin, Producer } from "@platformatic/kafka";
import { bodyInto, type More, type PipeBody } from "../pipes.ts";
import type { TestKafka } from "./kafka.ts";

export type Produced = {
  readonly topic: string;
  readonly partition?: number;
  readonly key?: string | Buffer;
  readonly value: string | Buffer | null;
  readonly headers?: Record<string, string>;
  readonly timestamp?: number;
};

export type Codec = "none" | "gzip" | "snappy" | "lz4" | "zstd";

/** A producer and an admin of one cluster. */
export class KafkaTool implements AsyncDisposable {
  readonly admin: Admin;
  #producer: Producer<Buffer, Buffer, Buffer, Buffer>;
  readonly #brokers: string[];
  #transactions = 0;

  constructor(kafka: Pick<TestKafka, "brokers">) {
    this.#brokers = kafka.brokers.split(",");
    this.admin = new Admin({ clientId: "admin", bootstrapBrokers: this.#brokers, retries: 20, retryDelay: 200 });
    this.#producer = this.#newProducer();
  }

  /** Idempotent: what it sends again after a lost response is in the topic once. */
  #newProducer() {
    return new Producer<Buffer, Buffer, Buffer, Buffer>({
      clientId: "producer",
      bootstrapBrokers: this.#brokers,
      idempotent: true,
      retries: 20,
      retryDelay: 200,
    });
  }

  async topic(name: string, partitions = 1, configs: Record<string, string> = {}, replicas = 1): Promise<void> {
    await this.admin.createTopics({
      topics: [name],
      partitions,
      replicas,
      configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
    });
  }

  /** Grows the topic to `count` partitions; the new ones are on the first broker. */
  async grow(name: string, from: number, count: number): Promise<void> {
    const assignments = Array.from({ length: count - from }, () => ({ brokerIds: [1] }));
    await this.admin.createPartitions({ topics: [{ name, count, assignments }] });
  }

  async send(messages: readonly Produced[], compression: Codec = "none"): Promise<void> {
    for (let from = 0; from < messages.length; from += 5_000) {
      const batch = messages.slice(from, from + 5_000).map((message) => wire(message));
      await this.#producer.send({ messages: batch, compression, acks: -1 });
    }
  }

  /**
   * Sends to brokers that die. A new producer continues after a failure: messages may be in the topic more than once.
   */
  async sendAnyway(messages: readonly Produced[], attempts = 5): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.send(messages);
      } catch (error) {
        if (attempt === attempts) throw error;
        await this.#producer.close(true).catch(() => {});
        this.#producer = this.#newProducer();
      }
    }
  }

  /** Messages of one transaction, which is committed or aborted. */
  async transaction(messages: readonly Produced[], end: "commit" | "abort"): Promise<void> {
    this.#transactions += 1;
    const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
      clientId: "transactional",
      bootstrapBrokers: this.#brokers,
      idempotent: true,
      transactionalId: `tx-${process.pid}-${this.#transactions}`,
      retries: 20,
      retryDelay: 200,
    });
    try {
      const transaction = await producer.beginTransaction();
      await transaction.send({ messages: messages.map((message) => wire(message)) });
      await transaction[end]();
    } finally {
      await producer.close(true);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.admin.close(), this.#producer.close(true)]);
  }
}

function wire({ topic, partition, key, value, headers, timestamp }: Produced) {
  return {
    topic,
    value: (value === null ? null : Buffer.from(value)) as Buffer,
    ...(partition === undefined ? {} : { partition }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
    ...(timestamp === undefined ? {} : { timestamp: BigInt(timestamp) }),
    ...(headers === undefined
      ? {}
      : { headers: new Map(Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])) }),
  };
}

/** JSON messages with the ids `from` to `to - 1`, spread over the partitions. */
export function orders(topic: string, from: number, to: number, partitions = 1): Produced[] {
  return Array.from({ length: to - from }, (_, at) => ({
    topic,
    partition: (from + at) % partitions,
    value: JSON.stringify({ id: from + at, name: `name ${from + at}` }),
  }));
}

export function kafkaBody(kafka: Pick<TestKafka, "brokers">, topics: string, table: string, more: More = {}): PipeBody {
  const messageBroker = { brokers: kafka.brokers, topics, format: "JSONEachRow", ...more.source };
  const body = { settings: { streaming_max_insert_wait_ms: 500 }, ...more.body };
  return bodyInto(table, { messageBroker }, { ...more, body });
}
