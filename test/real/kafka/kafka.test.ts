/** Kafka pipes against a real broker and a real engine. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assertAccounted } from "../../../harness/accounting.ts";
import { kafkaMissing, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { type Codec, KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { auditTopics } from "../../../harness/kafka/topic-audit.ts";
import { createPipe, details, untilRows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, type Served, until } from "../../../harness/serve.ts";
import { startRegistry } from "../../../harness/sources/schema-registry.ts";

if (kafkaMissing !== undefined) console.warn(`Kafka pipes are not tested: ${kafkaMissing}`);

describe.skipIf(kafkaMissing !== undefined)("Kafka pipes", () => {
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

  const rows = (sql: string) => query(service, sql);

  test("messages of every compression arrive once, and the group's offsets follow", async () => {
    await tool.topic("first", 3);
    const codecs: Codec[] = ["none", "gzip", "snappy", "lz4", "zstd"];
    for (const [at, codec] of codecs.entries()) await tool.send(orders("first", at * 100, at * 100 + 100, 3), codec);
    const id = await createPipe(served, service, kafkaBody(kafka, "first", "first"));
    await untilRows(served, service, "first", 500);
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
    const groups = async () => [...(await tool.admin.listGroups({})).keys()];
    expect(await groups()).toContain(`millrace-${id}`);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
    await until("the group is gone", async () => !(await groups()).includes(`millrace-${id}`));
  });

  test("what waits in the topic is there before the longest wait for more is over, in every partition", async () => {
    await tool.topic("early", 3);
    await tool.send(orders("early", 0, 30, 3));
    const settings = { streaming_max_insert_wait_ms: 60_000 };
    const started = Date.now();
    const id = await createPipe(served, service, kafkaBody(kafka, "early", "early", { body: { settings } }));
    await untilRows(served, service, "early", 30);
    expect(Date.now() - started).toBeLessThan(settings.streaming_max_insert_wait_ms);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  });

  const stopStart = async (id: string, between: () => Promise<void>) => {
    const params = { ...service.params, pipeId: id };
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await between();
    await served.api.updatePipeState({ params, body: { command: "start" } });
  };
  type BadRecord = { origin: string; position: string; message: string; raw: string };
  /** They are recorded after the rows of their batch. */
  const errorsOf = async (table: string, count: number) => {
    await untilRows(served, service, `${table}_pipes_error`, count);
    const columns = "origin, position, message, raw";
    const order = "ORDER BY origin, toInt64OrZero(position)";
    const text = await rows(`SELECT ${columns} FROM ${table}_pipes_error ${order} FORMAT JSONEachRow`);
    return text.split("\n").map((line) => JSON.parse(line) as BadRecord);
  };

  test("bad messages go to the error table; tombstones, aborted transactions and markers leave nothing", async () => {
    await tool.topic("mixed");
    await tool.send([
      {
        topic: "mixed",
        key: 'k"1',
        value: '{"id":1,"name":"one"}',
        headers: { a: "x", b: "y" },
        timestamp: 1_500_000_000_123,
      },
      { topic: "mixed", value: null },
      { topic: "mixed", value: "" },
      { topic: "mixed", value: "{broken" },
      { topic: "mixed", value: '{"id":"x","name":"two"}' },
      { topic: "mixed", value: Buffer.from([0xff, 0x00, 0x01]) },
    ]);
    await tool.transaction(orders("mixed", 100, 110), "abort");
    await tool.transaction(orders("mixed", 2, 4), "commit");
    await tool.send([{ topic: "mixed", value: JSON.stringify({ id: 9, name: "x".repeat(17_000_000) }) }], "zstd");
    await tool.send(orders("mixed", 4, 5));
    const fields = [
      ["id", "UInt64", "id"],
      ["name", "String", "name"],
      ["key", "Nullable(String)", "_key"],
      ["at", "DateTime64(3, 'UTC')", "_timestamp"],
      ["at_offset", "Int64", "_offset"],
      ["part", "Int32", "_partition"],
      ["topic", "LowCardinality(String)", "_topic"],
      ["headers", "Map(String, String)", "_headers"],
      ["names", "Array(String)", "_header_keys"],
      ["raw", "String", "_raw_message"],
    ] as const;
    const id = await createPipe(
      served,
      service,
      kafkaBody(kafka, "mixed", "mixed", {
        destination: { columns: fields.map(([name, type]) => ({ name, type })) },
        body: {
          fieldMappings: fields.map(([name, , field]) => ({ sourceField: field, destinationField: name })),
          scaling: { replicaMemoryGb: 0.5 },
        },
      }),
    );
    await untilRows(served, service, "mixed", 4);
    expect(await rows("SELECT id, name FROM mixed ORDER BY id")).toBe("1\tone\n2\tname 2\n3\tname 3\n4\tname 4");
    expect(JSON.parse(await rows("SELECT * EXCEPT raw FROM mixed WHERE id = 1 FORMAT JSONEachRow"))).toEqual({
      id: 1,
      name: "one",
      key: 'k"1',
      at: "2017-07-14 02:40:00.123",
      at_offset: 0,
      part: 0,
      topic: "mixed",
      headers: { a: "x", b: "y" },
      names: ["a", "b"],
    });
    expect(await rows("SELECT raw FROM mixed WHERE id = 1 FORMAT TSVRaw")).toBe('{"id":1,"name":"one"}');
    const errors = await errorsOf("mixed", 4);
    expect(errors.map(({ origin, position }) => `${origin}:${position}`)).toEqual([
      "mixed/0:3",
      "mixed/0:4",
      "mixed/0:5",
      "mixed/0:20",
    ]);
    expect(errors[0]).toMatchObject({ message: "The message is not one complete JSON object.", raw: "{broken" });
    expect(errors[1]?.message).toMatch(/id/);
    expect(errors[2]?.raw).toBe("hex:ff0001");
    expect(errors[3]?.message).toMatch(/has 17000018 bytes; the limit of this pipe is 16000000/);
    await until("counted", async () => (await details(served, service, id)).progress.fetchedRows === 10);
    expect((await details(served, service, id)).progress.errors).toBe(4);
    await assertAccounted(served, service, id, { sentRows: 4, refusedRows: 4, skippedRows: 2 });
  });

  test("a start at the end or at a time is decided once; partitions that come later are read from their beginning", async () => {
    await tool.topic("late", 2);
    const old = Date.now() - 3_600_000;
    await tool.send(orders("late", 0, 10, 2).map((message) => ({ ...message, timestamp: old })));
    const split = new Date(old + 1_800_000).toISOString().slice(0, 19);
    await tool.send(orders("late", 10, 20, 2));
    const latest = { source: { offset: { strategy: "from_latest" } } };
    const since = { source: { offset: { strategy: "from_timestamp", timestamp: split } } };
    const first = await createPipe(served, service, kafkaBody(kafka, "late", "from_latest", latest));
    const second = await createPipe(served, service, kafkaBody(kafka, "late", "from_time", since));
    await untilRows(served, service, "from_time", 10);
    await untilState(served, service, first, "Running");
    await until(
      "the group of the pipe at the end knows where it is",
      async () => ((await details(served, service, first)).progress.lagMessages ?? 1) === 0,
    );
    // Produced while the pipe is stopped: resolving "latest" again would skip it.
    await stopStart(first, async () => await tool.send(orders("late", 20, 30, 2)));
    await untilRows(served, service, "from_latest", 10);
    await tool.grow("late", 2, 3);
    await tool.send(orders("late", 30, 33).map((message) => ({ ...message, partition: 2 })));
    await untilRows(served, service, "from_latest", 13);
    await untilRows(served, service, "from_time", 23);
    expect(await rows("SELECT count(), min(id), max(id) FROM from_latest")).toBe("13\t20\t32");
    expect(await rows("SELECT count(), min(id), max(id) FROM from_time")).toBe("23\t10\t32");
    expect((await details(served, service, second)).state).toBe("Running");
  });

  test("what retention took is said, and what is left arrives; so after a topic was made again", async () => {
    await tool.topic("gone");
    await tool.topic("stays");
    await tool.send(orders("gone", 0, 10));
    const id = await createPipe(served, service, kafkaBody(kafka, "gone,stays", "gone"));
    await untilRows(served, service, "gone", 10);
    await stopStart(id, async () => {
      await tool.send(orders("gone", 10, 30));
      const partitions = [{ partition: 0, offset: 25n }];
      await tool.admin.deleteRecords({ topics: [{ name: "gone", partitions }] });
    });
    await untilRows(served, service, "gone", 15);
    expect(await rows("SELECT count(), max(id) FROM gone WHERE id >= 10")).toBe("5\t29");
    expect((await errorsOf("gone", 1))[0]?.message).toMatch(/removed 15 offsets \(10 to 24\)/);
    await tool.admin.deleteTopics({ topics: ["gone"] });
    await until("the topic is gone", async () => !(await tool.admin.listTopics()).includes("gone"));
    // The other topic continues, and the pipe reports the problem.
    await untilState(served, service, id, "Degraded");
    expect((await details(served, service, id)).lastError).toMatch(/topic "gone" does not exist/);
    await tool.send(orders("stays", 50, 60));
    await untilRows(served, service, "gone", 25);
    await using fresh = new KafkaTool(kafka);
    await fresh.topic("gone");
    // The same offsets as those loaded at first, with other content.
    await fresh.send(orders("gone", 100, 110));
    await untilRows(served, service, "gone", 35);
    await untilState(served, service, id, "Running");
    expect(await rows("SELECT count(), sum(id) FROM gone WHERE id >= 100")).toBe("10\t1045");
    expect((await errorsOf("gone", 2)).map(({ message }) => message).join()).toMatch(/deleted and made again/);
  });

  test("a compacted topic has gaps, and every message that is left arrives", async () => {
    const configs = {
      "cleanup.policy": "compact",
      "segment.ms": "100",
      "min.cleanable.dirty.ratio": "0.01",
      "max.compaction.lag.ms": "100",
    };
    await tool.topic("compact", 1, configs);
    for (let round = 0; round < 4; round += 1) {
      const values = orders("compact", round * 100, round * 100 + 100).map((message, at) => ({
        ...message,
        key: `k${at % 10}`,
      }));
      await tool.send(values);
      // The broker begins another segment at the first message after `segment.ms`.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    const bytes = async () => {
      const [broker] = await tool.admin.describeLogDirs({ topics: [{ name: "compact", partitions: [0] }] });
      return Number(broker?.results[0]?.topics[0]?.partitions[0]?.partitionSize ?? 1e9);
    };
    await until("the broker has compacted", async () => (await bytes()) < 12_000);
    await createPipe(served, service, kafkaBody(kafka, "compact", "compact"));
    // Compaction may continue meanwhile; everything that is left in the end has arrived.
    const after = await auditTopics(kafka, ["compact"], /^\{"id":(\d+),/);
    expect(after.good).toBeLessThan(300);
    await untilRows(served, service, "compact", after.good);
    expect(Number(await rows("SELECT uniqExact(id) FROM compact"))).toBe(
      Number(await rows("SELECT count() FROM compact")),
    );
  });

  test("a broker that dies makes the pipe Degraded; afterwards everything arrives once", async () => {
    await tool.topic("outage", 2);
    await tool.send(orders("outage", 0, 1_000, 2));
    const id = await createPipe(
      served,
      service,
      kafkaBody(kafka, "outage", "outage", { body: { scaling: { replicas: 2 } } }),
    );
    await untilRows(served, service, "outage", 1_000);
    await kafka.kill();
    await untilState(served, service, id, "Degraded");
    const { lastError, progress } = await details(served, service, id);
    expect(lastError).toMatch(/the source fails: .*broker/);
    expect(progress.lagMessages).toBeUndefined();
    await kafka.start();
    await tool.send(orders("outage", 1_000, 2_000, 2));
    await untilRows(served, service, "outage", 2_000);
    await untilState(served, service, id, "Running");
    expect(await rows("SELECT count(), sum(id) FROM outage")).toBe(`2000\t${1999 * 1000}`);
  });

  test("Avro with a registry: the schema in the message wins, and new ones are learned while running", async () => {
    await using registry = await startRegistry({ username: "u", password: "p" });
    const record = (more: object[]) =>
      JSON.stringify({
        type: "record",
        name: "R",
        fields: [{ name: "id", type: "long" }, { name: "name", type: "string" }, ...more],
      });
    registry.schemas.set(7, { schema: record([]) });
    const datum = (schema: number, id: number, name: string, ...tail: number[]) =>
      Buffer.from([0, 0, 0, 0, schema, id * 2, name.length * 2, ...Buffer.from(name), ...tail]);
    await tool.topic("avro");
    await tool.send([1, 2, 3].map((id) => ({ topic: "avro", value: datum(7, id, `n${id}`) })));
    const source = {
      format: "AvroConfluent",
      schemaRegistry: { url: registry.url, authentication: "PLAIN", credentials: { username: "u", password: "p" } },
    };
    const id = await createPipe(served, service, kafkaBody(kafka, "avro", "avro", { source }));
    await untilRows(served, service, "avro", 3);
    registry.schemas.set(8, { schema: record([{ name: "more", type: ["null", "int"], default: null }]) });
    await tool.send([
      { topic: "avro", value: datum(8, 4, "n4", 2, 14) },
      { topic: "avro", value: datum(7, 5, "n5") },
      { topic: "avro", value: datum(99, 6, "n6") },
      { topic: "avro", value: "no schema" },
      { topic: "avro", value: datum(8, 8, "n8", 0) },
    ]);
    await untilRows(served, service, "avro", 6);
    expect(await rows("SELECT id, name FROM avro ORDER BY id")).toBe("1\tn1\n2\tn2\n3\tn3\n4\tn4\n5\tn5\n8\tn8");
    expect((await errorsOf("avro", 2)).map(({ position, message }) => `${position} ${message}`)).toEqual([
      "5 The schema registry does not know the schema 99.",
      "6 The message does not begin with the id of a schema.",
    ]);
    expect(JSON.stringify(await details(served, service, id))).not.toContain('"p"');
  });

  test("Protobuf with a registry: samples, imports, and a schema that is learned while running", async () => {
    await using registry = await startRegistry();
    const imported = 'syntax = "proto3"; package other; message Name { string text = 1; }';
    const file = (more: string) =>
      `syntax = "proto3"; package p; import "other.proto"; message R { uint64 id = 1; other.Name full = 2; ${more} }`;
    const references = [{ name: "other.proto", subject: "other", version: 1 }];
    const register = (id: number, more: string) =>
      registry.schemas.set(id, { schema: file(more), schemaType: "PROTOBUF", references });
    registry.versions.set("other/1", { schema: imported, schemaType: "PROTOBUF" });
    register(7, "");
    const value = (schema: number, id: number, name: string, ...tail: number[]) =>
      Buffer.from([0, 0, 0, 0, schema, 0, 8, id, 18, name.length + 2, 10, name.length, ...Buffer.from(name), ...tail]);
    await tool.topic("protobuf");
    await tool.send([1, 2, 3].map((id) => ({ topic: "protobuf", value: value(7, id, `n${id}`) })));
    const source = { format: "Protobuf", schemaRegistry: { url: registry.url } };
    const given = kafkaBody(kafka, "protobuf", "protobuf", { source });
    const { messageBroker } = given.source;
    const found = await served.api.discoverSchema({ params: service.params, body: { source: { messageBroker } } });
    expect(found.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(["id UInt64", "full Tuple(`text` String)"]);
    const mapped = (field: string) => ({
      ...given,
      source: { messageBroker, validateSamples: true },
      fieldMappings: [
        { sourceField: "id", destinationField: "id" },
        { sourceField: field, destinationField: "name" },
      ],
    });
    await expect(createPipe(served, service, mapped("name") as typeof given)).rejects.toThrow(/no field "name"/);
    await createPipe(served, service, mapped("full.text") as typeof given);
    await untilRows(served, service, "protobuf", 3);
    register(8, "int32 more = 3;");
    await tool.send([
      { topic: "protobuf", value: value(8, 4, "n4", 24, 14) },
      { topic: "protobuf", value: value(7, 5, "n5") },
      { topic: "protobuf", value: value(99, 6, "n6") },
      { topic: "protobuf", value: value(7, 7, "n7").subarray(0, -1) },
      { topic: "protobuf", value: null },
      { topic: "protobuf", value: value(8, 8, "n8") },
    ]);
    await untilRows(served, service, "protobuf", 6);
    expect(await rows("SELECT id, name FROM protobuf ORDER BY id")).toBe("1\tn1\n2\tn2\n3\tn3\n4\tn4\n5\tn5\n8\tn8");
    expect((await errorsOf("protobuf", 2)).map(({ position, message }) => `${position} ${message}`)).toEqual([
      "5 The schema registry does not know the schema 99.",
      "6 The message is not of the type p.R: The message ends in the middle of a field.",
    ]);
  });

  test("lag is measured per partition, and a stopped service holds the pipe without losing anything", async () => {
    await tool.topic("waits", 2);
    const id = await createPipe(served, service, kafkaBody(kafka, "waits", "waits"));
    await tool.send(orders("waits", 0, 100, 2));
    await untilRows(served, service, "waits", 100);
    await until("no lag", async () => (await details(served, service, id)).progress["lagMessages:waits/1"] === 0);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await tool.send(orders("waits", 100, 30_000, 2), "lz4");
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await untilRows(served, service, "waits", 30_000);
    expect(await rows("SELECT count(), uniqExact(id) FROM waits")).toBe("30000\t30000");
  });
});
