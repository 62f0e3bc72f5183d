/** Replicas of a Kafka pipe as members of their consumer group, on a real broker. */
import { Consumer } from "@platformatic/kafka";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kill } from "../../../harness/chaos.ts";
import { kafkaMissing, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { type KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Consumer groups are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("The consumer group of a Kafka pipe", () => {
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

  const describeGroup = async (group: string) => {
    const found = (await tool.admin.describeGroups({ groups: [group] })).get(group);
    const members = [...(found?.members.values() ?? [])].map(({ groupInstanceId, assignments }) => ({
      instance: groupInstanceId,
      partitions: assignments?.get("shared")?.partitions ?? [],
    }));
    return { state: found?.state, protocol: found?.protocol, members };
  };
  const committed = async (group: string) => {
    const [found] = await tool.admin.listConsumerGroupOffsets({ groups: [group] });
    const partitions = found?.topics.flatMap((topic) => topic.partitions) ?? [];
    return Number(partitions.reduce((total, { committedOffset }) => total + committedOffset, 0n));
  };

  test("each replica is a member that shows its partitions; one that is killed takes its place again", async () => {
    await tool.topic("shared", 6);
    await tool.send(orders("shared", 0, 600, 6));
    const id = await createPipe(
      served,
      service,
      kafkaBody(kafka, "shared", "shared", { body: { scaling: { replicas: 2 } } }),
    );
    const group = `millrace-${id}`;
    const stable = async () => {
      const { state, members } = await describeGroup(group);
      return state === "Stable" && members.length === 2;
    };
    await until("two members", stable);
    const before = await describeGroup(group);
    expect(before.protocol).toBe("millrace");
    expect(before.members.map(({ instance }) => instance).sort()).toEqual([0, 1].map((at) => `millrace-${id}-${at}`));
    expect(before.members.flatMap(({ partitions }) => partitions).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    await until("commits", async () => (await committed(group)) === 600);

    expect(kill(`${served.dataDir}/pipes/${id}.1.pid`)).toBe(true);
    await tool.send(orders("shared", 600, 1200, 6));
    await until("commits of the successor", async () => (await committed(group)) === 1200);
    await until("two members again", stable);
    expect(await query(service, "SELECT count(), uniqExact(id) FROM shared")).toBe("1200\t1200");

    const params = { ...service.params, pipeId: id };
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await until("nobody is left", async () => (await describeGroup(group)).members.length === 0);
  });

  test("another program cannot join the group of a running pipe", async () => {
    await tool.topic("own");
    const id = await createPipe(served, service, kafkaBody(kafka, "own", "own"));
    const group = `millrace-${id}`;
    await until("a member", async () => (await describeGroup(group)).state === "Stable");
    const stranger = new Consumer({
      clientId: "stranger",
      groupId: group,
      bootstrapBrokers: [kafka.brokers],
      retries: 0,
    });
    try {
      stranger.topics.trackAll("own");
      await expect(stranger.joinGroup({})).rejects.toThrow();
      expect((await describeGroup(group)).members).toHaveLength(1);
    } finally {
      await stranger.close(true);
    }
  });
});
