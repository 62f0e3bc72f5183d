/** Our client, and whole pipes, against brokers of all versions that are not Apache's. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Kfake, type KfakeOptions, kfakeMissing, startKfake } from "../../../harness/kafka/kfake.ts";
import { kafkaBody } from "../../../harness/kafka/pipes.ts";
import { anyNetwork } from "../../../harness/network/network.ts";
import { createPipe, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { brokerAccessOf } from "../../../src/sources/message-broker/access.ts";
import { Membership } from "../../../src/sources/message-broker/group/membership.ts";
import type { Api } from "../../../src/sources/message-broker/protocol/call.ts";
import { KafkaClient } from "../../../src/sources/message-broker/protocol/kafka-client.ts";
import { emptyMessage, RecordCursor } from "../../../src/sources/message-broker/protocol/records.ts";
import { apis } from "../../../src/sources/message-broker/protocol/versions.ts";

const missing = kfakeMissing();
if (missing !== undefined) console.warn(`Brokers that are not Apache's are not tested: ${missing}`);

/** The broker knows the password as written; SASLprep changes it. */
const login = { mechanism: "SCRAM-SHA-256", username: "pipe", password: "secret-\u2168" } as const;
const codecs = ["none", "gzip", "snappy", "lz4", "zstd"];

/** Every request of a pipe to a cluster, as a member of the group and without. */
async function askEverything(broker: Kfake): Promise<void> {
  const { mechanism, ...credentials } = login;
  const config = { brokers: broker.brokers, topics: "t", authentication: mechanism, credentials };
  const access = brokerAccessOf(config, anyNetwork);
  const client = new KafkaClient(access, "versions");
  const membership = new Membership({
    ...{ access, group: "g", topics: ["t"], pipeId: "p", replica: { index: 0, count: 1 } },
    onRebalance: () => {},
  });
  try {
    const [topic] = await client.topics(["t", "none"]);
    expect(topic).toMatchObject({ name: "t", partitions: [{ partition: 0 }, { partition: 1 }] });
    const partitions = [0, 1].map((partition) => ({ topic: "t", partition }));
    expect((await client.offsets(partitions, "earliest")).map(({ offset }) => offset)).toEqual([0, 0]);
    expect((await client.offsets(partitions, "latest")).map(({ offset }) => offset)).toEqual([50, 50]);
    expect((await client.offsets(partitions, 1)).map(({ offset }) => offset)).toEqual([0, 0]);
    const { id: topicId, partitions: found } = topic as NonNullable<typeof topic>;
    const wanted = partitions.map((name) => ({ ...name, topicId, position: 5 }));
    const values: string[] = [];
    for (const fetched of await client.fetch(found[0]?.leader as number, wanted, 500)) {
      expect(fetched).toMatchObject({ topic: "t", errorCode: 0, lastStable: 50 });
      const cursor = new RecordCursor(fetched.records, 5, fetched.aborted, client.decompress);
      for (const message = emptyMessage("t", fetched.partition); cursor.read(message); ) {
        values.push(message.bytes.toString("utf8", message.start, message.end));
      }
    }
    const ids = values.map((value) => (JSON.parse(value) as { id: number }).id).sort((a, b) => a - b);
    expect(ids).toEqual(Array.from({ length: 90 }, (_, at) => at + 10));
    await until("membership", async () => membership.identity() !== undefined);
    await client.commit("g", [{ topic: "t", partition: 0, offset: 5 }], membership.identity());
    await client.commit("h", [{ topic: "t", partition: 0, offset: 5 }]);
    expect((await client.committed("h", partitions)).map(({ offset }) => offset)).toEqual([5, -1]);
    await until("a heartbeat", async () => broker.requests.has(apis.heartbeat.key));
    await client.deleteGroup("h");
  } finally {
    await membership.leave();
    await client.close();
  }
}

async function filled(options: Omit<KfakeOptions, "topics">): Promise<Kfake> {
  const broker = await startKfake({ ...options, topics: { t: 2 } });
  for (const [at, codec] of codecs.entries()) await broker.produce("t", at * 20, at * 20 + 20, codec);
  return broker;
}

describe.skipIf(missing !== undefined)("Brokers of all ages", () => {
  const spoken = Object.values<Api>(apis).filter(({ key }) => key !== apis.apiVersions.key);
  const levels = Math.max(...spoken.map(({ min, max }) => max - min)) + 1;

  test.concurrent.each(Array.from({ length: levels }, (_, level) => level))(
    "every request in its version number %i",
    async (level) => {
      const newest = new Map(spoken.map(({ key, min, max }) => [key, Math.min(max, min + level)] as const));
      await using broker = await filled({ newest, login });
      await askEverything(broker);
      for (const { key, name } of spoken) {
        expect([...(broker.requests.get(key) ?? [])], name).toContain(newest.get(key));
      }
    },
  );
});

describe.skipIf(missing !== undefined)("Pipes from brokers of all ages", () => {
  let served: Served;
  let service: BenchService;
  beforeAll(async () => {
    served = await serve();
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  test.each(["1.0", "2.4", "2.8", "3.1", "newest"])(
    "of Kafka %s: every message once, also after a stop",
    async (as) => {
      const table = `as_${as.replace(".", "_")}`;
      await using broker = await filled(as === "newest" ? {} : { as });
      const id = await createPipe(served, service, kafkaBody(broker, "t", table));
      const seen = () => query(service, `SELECT count(), uniqExact(id) FROM ${table}`).catch(() => "");
      await until("all rows", async () => (await seen()) === "100\t100");
      const params = { ...service.params, pipeId: id };
      await served.api.updatePipeState({ params, body: { command: "stop" } });
      await untilState(served, service, id, "Stopped");
      await broker.produce("t", 100, 150);
      await served.api.updatePipeState({ params, body: { command: "start" } });
      await until("the rest", async () => (await seen()) === "150\t150");
      await served.api.deletePipe({ params });
    },
  );

  test("a broker that is too old is refused with what it offers and what is needed", async () => {
    await using broker = await startKfake({ newest: new Map([[apis.metadata.key, 2]]), topics: { t: 1 } });
    await expect(createPipe(served, service, kafkaBody(broker, "t", "refused"))).rejects.toThrow(
      "The broker offers the versions 0 to 2 of the request Metadata; a version from 4 to 13 is needed.",
    );
  });
});
