/** Topics and brokers of a Kafka pipe change in place, without loss. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { kfakeMissing, startKfake } from "../../../harness/kafka/kfake.ts";
import { type KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, details, untilRows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Changes of Kafka pipes are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("changes of Kafka pipes", () => {
  let stage: KafkaStage;
  let kafka: TestKafka;
  let tool: KafkaTool;
  let served: Served;
  let service: BenchService;

  beforeAll(async () => {
    stage = await kafkaStage();
    ({ kafka, tool, served, service } = stage);
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });

  const patch = (pipeId: string, messageBroker: object) =>
    served.api.updatePipe({
      params: { ...service.params, pipeId },
      body: { source: { messageBroker } } as never,
    });
  const remove = (pipeId: string) => served.api.deletePipe({ params: { ...service.params, pipeId } });
  const sum = (table: string) => query(service, `SELECT count(), uniqExact(id), sum(id) FROM ${table}`);
  const everyRow = (rows: number) => `${rows}\t${rows}\t${((rows - 1) * rows) / 2}`;

  test("topics are added and removed while messages arrive; one that comes back begins anew", async () => {
    for (const topic of ["stays", "goes", "comes"]) await tool.topic(topic, 2);
    await tool.send([...orders("stays", 0, 100, 2), ...orders("goes", 100, 200, 2)]);
    const body = kafkaBody(kafka, "stays,goes", "kept", { body: { scaling: { replicas: 2 } } });
    const id = await createPipe(served, service, body);
    await untilRows(served, service, "kept", 200);
    await tool.send([...orders("stays", 200, 300, 2), ...orders("comes", 300, 400, 2)]);
    expect((await patch(id, { topics: "stays,comes" })).state).toBe("Modifying");
    await tool.send(orders("stays", 400, 500, 2));
    await untilRows(served, service, "kept", 500);
    await untilState(served, service, id, "Running");
    await tool.send(orders("goes", 1000, 1100, 2));
    await until("it is not read any more", async () => {
      const { progress } = await details(served, service, id);
      const lanes = Object.keys(progress).filter((name) => name.startsWith("lagMessages:"));
      return lanes.length === 4 && lanes.every((name) => !name.includes("goes"));
    });
    expect(await sum("kept")).toBe(everyRow(500));
    await patch(id, { topics: "stays,goes" });
    // Its position is forgotten: it is read from its beginning, as a topic that is new to the pipe.
    await untilRows(served, service, "kept", 700);
    expect(await query(service, "SELECT countIf(id BETWEEN 100 AND 199), countIf(id >= 1000) FROM kept")).toBe(
      "200\t100",
    );
    await remove(id);
  });

  test("a pipe starts at given offsets, or where a group has stopped", async () => {
    await tool.topic("begun", 2);
    await tool.send(orders("begun", 0, 100, 2));
    // Offset 40 of partition 0 is the message 80.
    const offset = { strategy: "from_offsets", offsets: [{ topic: "begun", partition: 0, offset: 40 }] };
    const given = await createPipe(served, service, kafkaBody(kafka, "begun", "given", { source: { offset } }));
    await untilRows(served, service, "given", 60);
    const odd = "countIf(id % 2 = 1), countIf(id % 2 = 0), minIf(id, id % 2 = 0)";
    expect(await query(service, `SELECT ${odd} FROM given`)).toBe("50\t10\t80");
    const first = await createPipe(
      served,
      service,
      kafkaBody(kafka, "begun", "first", { source: { consumerGroup: "handed-over" } }),
    );
    await untilRows(served, service, "first", 100);
    await until("the group has caught up", async () => {
      const [group] = await tool.admin.listConsumerGroupOffsets({ groups: ["handed-over"] });
      const offsets = group?.topics.flatMap(({ partitions }) => partitions).map((at) => Number(at.committedOffset));
      return offsets?.join() === "50,50";
    });
    await remove(first);
    await tool.send(orders("begun", 100, 200, 2));
    const group = { consumerGroup: "handed-over", offset: { strategy: "from_group" } };
    const next = await createPipe(served, service, kafkaBody(kafka, "begun", "next", { source: group }));
    await untilRows(served, service, "next", 100);
    await untilState(served, service, next, "Running");
    expect(await query(service, "SELECT count(), min(id), max(id) FROM next")).toBe("100\t100\t199");
    for (const id of [given, next]) await remove(id);
  });

  test("a topic is read again from an offset, beside the rows that are there or instead of them", async () => {
    await tool.topic("again", 1);
    await tool.send(orders("again", 0, 100));
    const id = await createPipe(served, service, kafkaBody(kafka, "again", "again"));
    await untilRows(served, service, "again", 100);
    await patch(id, { offset: { strategy: "from_offsets", offsets: [{ topic: "again", partition: 0, offset: 90 }] } });
    await untilState(served, service, id, "Running");
    expect(await sum("again")).toBe(everyRow(100));
    const resync = (rows: "keep" | "truncate") =>
      served.api.updatePipeState({ params: { ...service.params, pipeId: id }, body: { command: "resync", rows } });
    expect((await resync("keep")).state).toBe("Resync");
    await untilRows(served, service, "again", 110);
    await tool.send(orders("again", 100, 110));
    await untilRows(served, service, "again", 120);
    expect(await query(service, "SELECT count(), uniqExact(id), countIf(id >= 90) FROM again")).toBe("120\t110\t30");
    await resync("truncate");
    await until("the last 20 messages are there", async () => (await sum("again")) === `20\t20\t${20 * 99.5}`);
    await untilState(served, service, id, "Running");
    await remove(id);
  });

  test("brokers are changed for others of the same cluster, and for no others", async () => {
    await tool.topic("moved", 1);
    await tool.send(orders("moved", 0, 100));
    const id = await createPipe(served, service, kafkaBody(kafka, "moved", "moved"));
    await untilRows(served, service, "moved", 100);
    const brokers = kafka.brokers.replaceAll("127.0.0.1", "localhost");
    await patch(id, { brokers });
    await tool.send(orders("moved", 100, 200));
    await untilRows(served, service, "moved", 200);
    expect(await sum("moved")).toBe(everyRow(200));
    expect((await details(served, service, id)).source.messageBroker).toMatchObject({ brokers });
    if (kfakeMissing() !== undefined) return;
    await using other = await startKfake({ topics: { moved: 1 } });
    await expect(patch(id, { brokers: other.brokers })).rejects.toMatchObject({
      ...{ status: 400, code: "SOURCE_INVALID" },
      message: expect.stringMatching(
        /source.messageBroker.brokers: they belong to the cluster .* and the pipe has read/,
      ),
    });
    await tool.send(orders("moved", 200, 300));
    await untilRows(served, service, "moved", 300);
    await remove(id);
  });
});
