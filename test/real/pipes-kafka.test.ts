/** Kafka pipes against a real broker and a real engine. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing, startKafka, type TestKafka } from "../support/kafka.ts";
import { type Codec, KafkaTool, kafkaBody, orders } from "../support/kafka-pipes.ts";
import { createPipe, details, untilState } from "../support/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../support/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Kafka pipes are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("Kafka pipes", () => {
  let kafka: TestKafka;
  let tool: KafkaTool;
  let served: Served;
  let service: BenchService;

  beforeAll(async () => {
    [kafka, served] = await Promise.all([startKafka(), serve()]);
    tool = new KafkaTool(kafka);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await tool?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await kafka?.[Symbol.asyncDispose]();
  });

  const rows = (sql: string) => query(service, sql);
  const untilRows = (table: string, count: number) =>
    until(
      `${count} rows in ${table}`,
      async () => Number(await rows(`SELECT count() FROM ${table}`).catch(() => "")) >= count,
    );

  test("messages of every compression arrive once, and the group's offsets follow", async () => {
    await tool.topic("first", 3);
    const codecs: Codec[] = ["none", "gzip", "snappy", "lz4", "zstd"];
    for (const [at, codec] of codecs.entries()) await tool.send(orders("first", at * 100, at * 100 + 100, 3), codec);
    const id = await createPipe(served, service, kafkaBody(kafka, "first", "first"));
    await untilRows("first", 500);
    expect(await rows("SELECT count(), uniqExact(id), sum(id) FROM first")).toBe(`500\t500\t${(499 * 500) / 2}`);
    await until("the group has caught up", async () => {
      const [group] = await tool.admin.listConsumerGroupOffsets({ groups: [`millrace-${id}`] });
      const sum = group?.topics
        .flatMap(({ partitions }) => partitions)
        .reduce((total, { committedOffset }) => total + committedOffset, 0n);
      return sum === 500n;
    });
    const pipe = await details(served, service, id);
    expect(pipe.state).toBe("Running");
    await untilState(served, service, id, "Running");
  });
});
