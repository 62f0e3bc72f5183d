/** A pipe on a cluster of three brokers, one of which dies. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { type KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { auditTopics } from "../../../harness/kafka/topic-audit.ts";
import { createPipe, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Kafka clusters are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("a cluster of three brokers", () => {
  let stage: KafkaStage;
  let kafka: TestKafka;
  let tool: KafkaTool;
  let served: Served;
  let service: BenchService;

  beforeAll(async () => {
    stage = await kafkaStage({ kafka: { brokers: 3, heapMb: 192 } });
    ({ kafka, tool, served, service } = stage);
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });

  test("partitions get other leaders when one dies, and everything arrives once", async () => {
    await tool.topic("led", 6, {}, 3);
    await tool.sendAnyway(orders("led", 0, 600, 6));
    const id = await createPipe(
      served,
      service,
      kafkaBody(kafka, "led", "led", { body: { scaling: { replicas: 2 } } }),
    );
    const distinct = () => query(service, "SELECT uniqExact(id) FROM led").catch(() => "");
    await until("the first rows", async () => (await distinct()) === "600");
    await kafka.kill(0);
    await tool.sendAnyway(orders("led", 600, 1_200, 6));
    await until("the rows of the new leaders", async () => (await distinct()) === "1200");
    await untilState(served, service, id, "Running");
    await kafka.start(0);
    await kafka.kill(1);
    await tool.sendAnyway(orders("led", 1_200, 1_800, 6));
    await until("the rows after another change", async () => (await distinct()) === "1800");
    // What the producer may have sent twice is in the topic twice; the table must equal the topic.
    const { good, sum } = await auditTopics(kafka, ["led"], /"id":(\d+)/);
    await until("every message", async () => Number(await query(service, "SELECT count() FROM led")) >= good);
    expect(await query(service, "SELECT count(), sum(id) FROM led")).toBe(`${good}\t${sum}`);
  });
});
