/** Kinesis pipes end to end: the real program, a real engine, stand-ins that implement the Kinesis protocol. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { DescribeStreamSummaryCommand, ListStreamConsumersCommand } from "@aws-sdk/client-kinesis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assertAccounted } from "../../../harness/accounting.ts";
import { startKinesalite, startKinesisLocal, type TestKinesis } from "../../../harness/kinesis/kinesis.ts";
import { aggregated, events, kinesisPipe } from "../../../harness/kinesis/pipes.ts";
import { createPipe, details, type PipeBody, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { startRegistry } from "../../../harness/sources/schema-registry.ts";

let local: TestKinesis;
let lite: TestKinesis;
let served: Served;
let service: BenchService;

beforeAll(async () => {
  [local, lite, served] = await Promise.all([startKinesisLocal(), startKinesalite(), serve()]);
  service = await runningService(served);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await local?.[Symbol.asyncDispose]();
  await lite?.[Symbol.asyncDispose]();
});

const look = (sql: string) => query(service, sql).catch(() => "");
const untilRows = async (table: string, rows: number) =>
  await until(`${table} has ${rows} rows`, async () => Number(await look(`SELECT count() FROM ${table}`)) >= rows);
const create = (body: PipeBody) => createPipe(served, service, body);
const remove = (pipeId: string) => served.api.deletePipe({ params: { ...service.params, pipeId } });
const everyRow = (rows: number) => `${rows}\t${rows}\t${((rows - 1) * rows) / 2}`;
const seen = (table: string) => look(`SELECT count(), uniqExact(id), sum(id) FROM ${table}`);
const refusal = async (body: PipeBody) =>
  await create(body).then(
    () => expect.fail("the pipe was created"),
    (error: { message: string; issues?: { path: string; message: string }[] }) => error,
  );

describe.each([
  ["kinesis-local, polled", () => local, {}],
  ["kinesis-local, fan-out", () => local, { useEnhancedFanOut: true }],
  ["kinesalite, polled", () => lite, {}],
] as const)("%s", (name, kinesisOf, source) => {
  test("a stream is read from its beginning through split and merge, every record once", async () => {
    const kinesis = kinesisOf();
    const stream = name.replaceAll(/\W+/g, "_");
    await kinesis.createStream(stream, 2);
    await kinesis.put(stream, events(0, 200));
    const id = await create(kinesisPipe(kinesis, stream, { source, body: { scaling: { replicas: 2 } } }));
    await untilRows(stream, 200);
    const [first] = await kinesis.openShards(stream);
    await kinesis.split(stream, first as never);
    await kinesis.put(stream, events(200, 400));
    const [left, right] = await kinesis.openShards(stream);
    await kinesis.merge(stream, left as never, right as never);
    await kinesis.put(stream, events(400, 600));
    await untilRows(stream, 600);
    expect(await seen(stream)).toBe(everyRow(600));
    expect((await details(served, service, id)).state).toBe("Running");
    await remove(id);
  });
});

test("the pipe's own consumer goes when the pipe is deleted, and not before", async () => {
  await local.createStream("fan", 1);
  const consumers = async () => {
    const summary = await local.client.send(new DescribeStreamSummaryCommand({ StreamName: "fan" }));
    const { StreamARN } = summary.StreamDescriptionSummary ?? {};
    return (await local.client.send(new ListStreamConsumersCommand({ StreamARN }))).Consumers ?? [];
  };
  const id = await create(kinesisPipe(local, "fan", { source: { useEnhancedFanOut: true } }));
  await until("registered", async () => (await consumers())[0]?.ConsumerStatus === "ACTIVE");
  expect((await consumers()).map((consumer) => consumer.ConsumerName)).toEqual([`millrace-${id}`]);
  await served.api.updatePipeState({ params: { ...service.params, pipeId: id }, body: { command: "stop" } });
  await untilState(served, service, id, "Stopped");
  expect((await consumers()).length).toBe(1);
  await remove(id);
  await until("deregistered", async () => (await consumers()).length === 0);
});

test("aggregated records are taken apart, compressed ones unpacked, and virtual columns tell where a row is from", async () => {
  await lite.createStream("packed", 2);
  const zipped = (id: number) => gzipSync(JSON.stringify({ id, name: `name ${id}` }));
  await lite.put("packed", [
    aggregated([
      { key: "first", data: zipped(0) },
      { key: "second", data: zipped(1) },
    ]),
    { PartitionKey: "third", Data: zipped(2) },
    { PartitionKey: "fourth", Data: Buffer.from("this is not gzip") },
  ]);
  const types: Record<string, string> = { id: "UInt64", key: "String", at: "DateTime64(3)", stream: "String" };
  Object.assign(types, { shard: "String", seq: "String", sub: "UInt32", arrival: "DateTime64(3)", raw: "String" });
  const fields = ["id", "_key", "_timestamp", "_stream", "_shard", "_sequence_number", "_sub_sequence_number"];
  fields.push("_approximate_arrival", "_raw_message");
  const names = Object.keys(types);
  const id = await create(
    kinesisPipe(lite, "packed", {
      source: { compression: "gzip" },
      destination: { columns: names.map((name) => ({ name, type: types[name] })) },
      body: {
        settings: { streaming_max_insert_wait_ms: 500 },
        fieldMappings: names.map((name, i) => ({ sourceField: fields[i], destinationField: name })),
      },
    }),
  );
  await untilRows("packed", 3);
  expect(await look("SELECT id, key, sub, stream, raw, arrival = at FROM packed ORDER BY id")).toBe(
    [
      `0\tfirst\t0\tpacked\t{"id":0,"name":"name 0"}\t1`,
      `1\tsecond\t1\tpacked\t{"id":1,"name":"name 1"}\t1`,
      `2\tthird\t0\tpacked\t{"id":2,"name":"name 2"}\t1`,
    ].join("\n"),
  );
  expect(await look("SELECT uniqExact(seq), min(match(seq, '^\\\\d{50,60}$')) FROM packed")).toBe("2\t1");
  expect(await look("SELECT min(match(shard, '^shardId-\\\\d{12}$')) FROM packed")).toBe("1");
  expect(await look("SELECT max(abs(dateDiff('second', at, now()))) < 60 FROM packed")).toBe("1");
  await until("recorded", async () => (await look("SELECT count() FROM packed_pipes_error")) === "1");
  const errors = await look("SELECT origin, message, raw FROM packed_pipes_error");
  expect(errors).toMatch(/^packed\/shardId-\d+\tThe payload is not gzip .*\tthis is not gzip$/);
  await remove(id);
});

test("bad messages go to the error table and block nothing", async () => {
  await lite.createStream("bad", 1);
  const bad = ["nonsense", `{"id":"x"}`, `{"id":1}{"id":2}`, "[1]"].map((text, i) => ({
    PartitionKey: `bad ${i}`,
    Data: Buffer.from(text),
  }));
  await lite.put("bad", [...events(0, 50), ...bad, ...events(50, 100)]);
  const id = await create(kinesisPipe(lite, "bad"));
  await untilRows("bad", 100);
  expect(await seen("bad")).toBe(everyRow(100));
  await until("recorded", async () => (await look("SELECT count() FROM bad_pipes_error")) === "4");
  const raws = await look("SELECT raw FROM bad_pipes_error ORDER BY position");
  expect(raws.split("\n")).toEqual(["nonsense", `{"id":"x"}`, `{"id":1}{"id":2}`, "[1]"]);
  await until("counted", async () => (await details(served, service, id)).progress.errors === 4);
  expect((await details(served, service, id)).progress).toMatchObject({ sentRows: 100, fetchedRows: 104 });
  await assertAccounted(served, service, id, { sentRows: 100, refusedRows: 4, skippedRows: 0 });
  await remove(id);
});

test("Avro messages are read by the schema that they name, and a registry that does not answer is named at create", async () => {
  await using registry = await startRegistry();
  const fields = [
    { name: "id", type: "long" },
    { name: "name", type: "string" },
  ];
  registry.schemas.set(7, { schema: JSON.stringify({ type: "record", name: "event", fields }) });
  await lite.createStream("avro", 1);
  const avro = (id: number, name: string) =>
    Buffer.concat([Buffer.from([0, 0, 0, 0, 7, id * 2, name.length * 2]), Buffer.from(name)]);
  const records = [avro(1, "one"), avro(2, "two"), Buffer.from("no schema id")];
  await lite.put(
    "avro",
    records.map((Data, i) => ({ PartitionKey: `k${i}`, Data })),
  );
  const avroPipe = (url: string) => kinesisPipe(lite, "avro", { source: { format: "Avro", schemaRegistry: { url } } });
  expect((await refusal(avroPipe("http://127.0.0.1:1"))).message).toContain("schemaRegistry.url: nothing listens at");
  const id = await create(avroPipe(registry.url));
  await untilRows("avro", 2);
  expect(await look("SELECT id, name FROM avro ORDER BY id")).toBe("1\tone\n2\ttwo");
  await until("recorded", async () => (await look("SELECT raw FROM avro_pipes_error")) === "no schema id");
  await remove(id);
});

test("Protobuf messages are read by the schema that they name, also aggregated ones", async () => {
  await using registry = await startRegistry();
  const schema = 'syntax = "proto3"; message Event { uint64 id = 1; string name = 2; }';
  registry.schemas.set(7, { schema, schemaType: "PROTOBUF" });
  await lite.createStream("protobuf", 1);
  const event = (id: number, name: string) =>
    Buffer.concat([Buffer.from([0, 0, 0, 0, 7, 0, 8, id, 18, name.length]), Buffer.from(name)]);
  const parts = [2, 3].map((id) => ({ key: `k${id}`, data: event(id, `n${id}`) }));
  await lite.put("protobuf", [
    { PartitionKey: "k1", Data: event(1, "one") },
    aggregated(parts),
    { PartitionKey: "k4", Data: Buffer.from("no schema id") },
  ]);
  const source = { format: "Protobuf", schemaRegistry: { url: registry.url } };
  const pipe = kinesisPipe(lite, "protobuf", { source });
  const { managedStream } = pipe.source;
  const found = await served.api.discoverSchema({ params: service.params, body: { source: { managedStream } } });
  expect(found.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(["id UInt64", "name String"]);
  const id = await create(pipe);
  await untilRows("protobuf", 3);
  expect(await look("SELECT id, name FROM protobuf ORDER BY id")).toBe("1\tone\n2\tn2\n3\tn3");
  await until("recorded", async () => (await look("SELECT raw FROM protobuf_pipes_error")) === "no schema id");
  await remove(id);
});

test("fields and types are discovered from samples", async () => {
  await lite.createStream("discovered", 1);
  await lite.put("discovered", events(0, 10));
  const { managedStream } = kinesisPipe(lite, "discovered").source;
  const found = await served.api.discoverSchema({ params: service.params, body: { source: { managedStream } } });
  expect(found.fields.map(({ name, type }) => `${name} ${type}`)).toEqual(["id Int64", "name String"]);
});

test("LATEST reads what arrives after the first start, also what arrived while the pipe was stopped", async () => {
  await local.createStream("latest", 2);
  await local.put("latest", events(1000, 1100));
  const id = await create(kinesisPipe(local, "latest", { source: { iteratorType: "LATEST" } }));
  await untilState(served, service, id, "Running");
  const { params } = service;
  // Nothing has arrived yet, so only the saved start determines where the pipe begins.
  await until("a shard was asked", async () => {
    const { progress } = await details(served, service, id);
    return Object.keys(progress).some((name) => name.startsWith("millisBehindLatest"));
  });
  await served.api.updatePipeState({ params: { ...params, pipeId: id }, body: { command: "stop" } });
  await untilState(served, service, id, "Stopped");
  await local.put("latest", events(0, 100));
  await served.api.updatePipeState({ params: { ...params, pipeId: id }, body: { command: "start" } });
  const arrived = async () => Number(await look("SELECT count() FROM latest WHERE id < 1000")) >= 100;
  await until("all that arrived meanwhile is there", arrived);
  expect(await look("SELECT count(), uniqExact(id), sum(id) FROM latest WHERE id < 1000")).toBe(everyRow(100));
  await remove(id);
});

test("AT_TIMESTAMP begins at the second that is asked for, given as a number or a text", async () => {
  await local.createStream("since", 1);
  await local.put("since", events(1000, 1010));
  const second = Math.floor(Date.now() / 1000) + 1;
  await until("the next second", async () => Date.now() > second * 1000 + 50);
  await local.put("since", events(0, 10));
  for (const [table, timestamp] of Object.entries({ since_number: second, since_text: String(second) })) {
    const source = { iteratorType: "AT_TIMESTAMP", timestamp };
    const id = await create(kinesisPipe(local, "since", { table, source }));
    await untilRows(table, 10);
    expect(await seen(table)).toBe(everyRow(10));
    expect((await details(served, service, id)).source.managedStream).toMatchObject({ timestamp });
    await remove(id);
  }
});

test("what is wrong is named: the stream, the address, the credentials, a field, a type", async () => {
  await lite.createStream("checked", 1);
  await lite.put("checked", events(0, 10));
  const unknown = await refusal(kinesisPipe(lite, "no-such-stream", { table: "t1" }));
  expect(unknown.message).toContain('Stream "no-such-stream" does not exist');
  const nobody = await refusal(
    kinesisPipe(lite, "checked", { table: "t1", source: { endpoint: "http://127.0.0.1:1" } }),
  );
  expect(nobody.message).toContain("nothing listens at http://127.0.0.1:1");
  const open = await refusal(kinesisPipe(lite, "checked", { table: "t1", source: { accessKey: null } }));
  expect(open.issues?.map((issue) => issue.path)).toContain("source.managedStream.accessKey");
  const columns = [
    { name: "id", type: "UInt64" },
    { name: "name", type: "DateTime" },
    { name: "nmae", type: "String" },
  ];
  const sampled = (list: object[]) =>
    kinesisPipe(lite, "checked", {
      table: "t1",
      destination: { columns: list },
      body: { source: { ...kinesisPipe(lite, "checked").source, validateSamples: true } },
    });
  const type = await refusal(sampled(columns.slice(0, 2)));
  expect(type.message).toContain('field "name" does not fit DateTime');
  const field = await refusal(sampled([columns[0] as object, columns[2] as object]));
  expect(field.message).toContain('no field "nmae"');
});

test("secrets are in no response, no store and no metric; lag is a metric per shard", async () => {
  await lite.createStream("quiet", 2);
  const id = await create(kinesisPipe(lite, "quiet"));
  await lite.put("quiet", events(0, 10));
  await untilRows("quiet", 10);
  const metrics = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
  expect(metrics).toMatch(/Pipes_MillisBehindLatest\{[^}]*shard="shardId-000000000001"[^}]*\} 0/);
  const texts = [JSON.stringify(await details(served, service, id)), metrics];
  for (const text of texts) expect(text).not.toContain("SK-of-kinesis-tests");
  expect(readFileSync(`${served.dataDir}/millrace.db`).includes("SK-of-kinesis-tests")).toBe(false);
  await remove(id);
});
