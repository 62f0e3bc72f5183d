/**
 * One Kafka client on its own in this process: reads ROWS messages of a topic and discards them. Arguments: `ours`,
 * `stream` or `fetch` (of the library), BROKERS TOPIC PARTITIONS ROWS. Prints JSON: times to load the client, and to
 * read, in ms, wall and CPU.
 */
import { anyNetwork } from "../harness/network/network.ts";

const [client, brokers, topic, partitions, rows] = process.argv.slice(2) as [string, string, string, string, string];

type Spent = { readonly wall: number; readonly cpu: number };

async function spent(work: () => Promise<void>): Promise<Spent> {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { wall: performance.now() - wall, cpu: (user + system) / 1000 };
}

/** What a pipe does before its messages become rows. */
async function ours(): Promise<Record<string, Spent>> {
  let client:
    | InstanceType<typeof import("../src/sources/message-broker/protocol/kafka-client.ts").KafkaClient>
    | undefined;
  const load = await spent(async () => {
    const { brokerAccessOf } = await import("../src/sources/message-broker/access.ts");
    const { KafkaClient } = await import("../src/sources/message-broker/protocol/kafka-client.ts");
    client = new KafkaClient(brokerAccessOf({ brokers, topics: topic }, anyNetwork), "bench");
  });
  const { emptyMessage, RecordCursor } = await import("../src/sources/message-broker/protocol/records.ts");
  const { AnswerMemory } = await import("../src/sources/message-broker/broker-client.ts");
  const read = await spent(async () => {
    const kafka = client as NonNullable<typeof client>;
    const [info] = await kafka.topics([topic]);
    const wanted = Array.from({ length: Number(partitions) }, (_, partition) => ({
      ...{ topic, topicId: info?.id as string, partition, position: 0 },
    }));
    const memory = new AnswerMemory();
    for (let left = Number(rows), bytes = 0; left > 0; ) {
      for (const fetched of await kafka.fetch(info?.partitions[0]?.leader as number, wanted, 500, memory)) {
        const place = wanted.find(({ partition }) => partition === fetched.partition) as { position: number };
        const cursor = new RecordCursor(fetched.records, place.position, fetched.aborted, kafka.decompress);
        for (const message = emptyMessage(topic, fetched.partition); cursor.read(message); left -= 1) {
          bytes += message.end - message.start;
        }
        place.position = cursor.next;
      }
      wanted.sort((a, b) => a.position - b.position);
      if (bytes === 0) throw new Error("nothing was read");
    }
    await kafka.close();
  });
  return { load, read };
}

type Consumer = import("@platformatic/kafka").Consumer;

/** Without deserializers: keys and values are buffers. */
async function library(readAll: (consumer: Consumer) => Promise<void>): Promise<Record<string, Spent>> {
  let consumer: Consumer | undefined;
  const load = await spent(async () => {
    const { Consumer } = await import("@platformatic/kafka");
    consumer = new Consumer({
      clientId: "bench",
      groupId: `bench-${process.pid}`,
      bootstrapBrokers: brokers.split(","),
    });
  });
  const read = await spent(async () => {
    await readAll(consumer as Consumer);
    await (consumer as Consumer).close(true);
  });
  return { load, read };
}

async function readStream(consumer: Consumer): Promise<void> {
  const stream = await consumer.consume({
    topics: [topic],
    mode: "earliest",
    autocommit: false,
    highWaterMark: 65_536,
  });
  let left = Number(rows);
  await new Promise<void>((resolve, reject) => {
    stream.on("error", reject);
    stream.on("data", () => {
      left -= 1;
      if (left === 0) resolve();
    });
  });
  await stream.close();
}

/** Its low-level call, which returns batches with an object for each record. */
async function readFetches(consumer: Consumer): Promise<void> {
  const info = (await consumer.metadata({ topics: [topic] })).topics.get(topic);
  if (info === undefined) throw new Error("the topic is missing");
  consumer.topics.track(topic);
  const wanted = Array.from({ length: Number(partitions) }, (_, partition) => ({
    ...{ partition, currentLeaderEpoch: -1, fetchOffset: 0n, lastFetchedEpoch: -1, partitionMaxBytes: 4 * 2 ** 20 },
  }));
  const node = info.partitions[0]?.leader as number;
  for (let left = Number(rows); left > 0; ) {
    const topics = [{ topicId: info.id, partitions: wanted }];
    const answer = await consumer.fetch({ node, topics, maxBytes: 16 * 2 ** 20 });
    for (const { partitionIndex, records } of answer.responses.flatMap((one) => one.partitions)) {
      const place = wanted.find(({ partition }) => partition === partitionIndex) as { fetchOffset: bigint };
      for (const batch of records ?? []) {
        left -= batch.records.length - Math.max(0, Number(place.fetchOffset - batch.firstOffset));
        place.fetchOffset = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
      }
    }
    wanted.sort((a, b) => Number(a.fetchOffset - b.fetchOffset));
  }
}

const work = { ours, stream: () => library(readStream), fetch: () => library(readFetches) };
console.log(JSON.stringify(await work[client as keyof typeof work]()));
process.exit(0);
