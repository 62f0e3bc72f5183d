/** What schema discovery answers is a definition that create takes, for each kind of source whose fields it finds. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { kafkaMissing, startKafka, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody } from "../../../harness/kafka/pipes.ts";
import { startKinesalite, type TestKinesis } from "../../../harness/kinesis/kinesis.ts";
import { kinesisPipe } from "../../../harness/kinesis/pipes.ts";
import { accessKey, bucket, startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, type PipeBody, pipeBody, untilRows } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;
let kinesis: TestKinesis;
let kafka: TestKafka | undefined;

beforeAll(async () => {
  [served, store, kinesis] = await Promise.all([
    serve({ env: { MILLRACE_SQL_NETWORKS: "any" } }),
    startFauxqs(),
    startKinesalite(),
  ]);
  if (kafkaMissing === undefined) kafka = await startKafka();
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  for (const one of [served, store, kinesis, kafka]) await one?.[Symbol.asyncDispose]();
});

const records = Array.from({ length: 10 }, (_, id) => ({
  ...{ id, name: `name ${id}`, at: "2026-01-02T03:04:05Z", ratio: id / 4, ok: true, tags: ["a"] },
  ...{ address: { city: "Bern", "zip code": 3000 }, maybe: id === 3 ? null : id, ...(id % 2 ? { odd: "x" } : {}) },
  ...{ mixed: id % 2 ? [id] : id, "it's `mixed`": id % 2 ? { of: "each" } : "kind" },
  list: [id, ...(id % 2 ? ["text"] : [])],
}));
const lines = records.map((record) => JSON.stringify(record)).join("\n");
const types = {
  ...{ id: "Int64", name: "String", at: "DateTime", maybe: "Nullable(Int64)", odd: "Nullable(String)" },
  // Values without a common type are text.
  ...{ mixed: "String", "it's `mixed`": "String", list: "Array(Variant(Int64, String))" },
  ...{ ratio: "Nullable(Float64)", tags: "Array(Nullable(String))" },
  address: "Tuple(city Nullable(String), `zip code` Nullable(Int64))",
};

/** Discovers, creates a pipe with exactly what is proposed, and loads. */
async function roundTrip(body: PipeBody, wanted: Readonly<Record<string, string>>, hasRaw = true): Promise<void> {
  const { source, destination } = body;
  const table = String(destination.table);
  const found = await served.api.discoverSchema({ params: service.params, body: { source, destination: { table } } });
  const { fields, samples, proposedTable } = found;
  expect(Object.fromEntries(fields.map(({ name, type }) => [name, type]))).toMatchObject(wanted);
  for (const { name, type, optional } of fields) expect([name, optional]).toEqual([name, /^Nullable/.test(type)]);
  expect(samples.map(({ parsed }) => parsed?.name)).toEqual(records.map(({ name }) => name));
  if (hasRaw) for (const [at, { raw }] of samples.entries()) expect(raw).toContain(`name ${at}`);
  expect(JSON.stringify(found)).not.toContain(accessKey.secretKey);
  // What is proposed is valid for the engine: it is run as it is, and its other form makes the pipe.
  await query(service, proposedTable.createTable);
  expect(await query(service, `SELECT engine, sorting_key != '' FROM system.tables WHERE name = '${table}'`)).toBe(
    "MergeTree\t1",
  );
  await query(service, `DROP TABLE ${table}`);
  const { columns, tableDefinition } = proposedTable;
  const made = { ...destination, columns, tableDefinition };
  const validated = { ...source, validateSamples: true };
  await createPipe(served, service, { ...body, source: validated, destination: made, fieldMappings: undefined });
  await untilRows(served, service, table, records.length);
  expect(await query(service, `SELECT sum(id), countDistinct(name) FROM ${table}`)).toBe("45\t10");
  if (!Object.hasOwn(wanted, "mixed")) return;
  expect(await query(service, `SELECT mixed, "it's \`mixed\`" FROM ${table} WHERE id IN (2, 3) ORDER BY id`)).toBe(
    '2\tkind\n[3]\t{"of":"each"}',
  );
}

test("JSON objects", async () => {
  await store.put("json/a.json", lines);
  await roundTrip(pipeBody(store, "json/*.json", "from_json"), types);
});

test("a sample that cannot be read says why, beside the others", async () => {
  await kinesis.createStream("mixed", 1);
  const texts = ['{"id": 1, "name": "one"}', "no JSON", '{"id": 3, "name": "three"}'];
  await kinesis.put(
    "mixed",
    texts.map((text) => ({ PartitionKey: "k", Data: Buffer.from(text) })),
  );
  const { source } = kinesisPipe(kinesis, "mixed");
  const { samples } = await served.api.discoverSchema({ params: service.params, body: { source } });
  expect(samples).toEqual([
    { raw: texts[0], parsed: { id: "1", name: "one" } },
    { raw: texts[1], problem: expect.stringContaining("JSON") },
    { raw: texts[2], parsed: { id: "3", name: "three" } },
  ]);
});

test("CSV objects", async () => {
  const csv = records.map(({ id, name, maybe }) => `${id},${name},${maybe ?? "\\N"}`);
  await store.put("csv/a.csv", ["id,name,maybe", ...csv].join("\n"));
  const wanted = { id: "Int64", name: "String", maybe: "Nullable(Int64)" };
  await roundTrip(pipeBody(store, "csv/*.csv", "from_csv", { source: { format: "CSVWithNames" } }), wanted);
});

test("Parquet objects, whose columns all allow NULL", async () => {
  const target = `s3('${store.endpoint}/${bucket}/parquet/a.parquet', '${accessKey.accessKeyId}', '${accessKey.secretKey.replaceAll(/['\\]/g, "\\$&")}', 'Parquet')`;
  const rows =
    "SELECT toNullable(number) AS id, toNullable(concat('name ', toString(number))) AS name FROM numbers(10)";
  await query(service, `INSERT INTO FUNCTION ${target} ${rows}`);
  await roundTrip(pipeBody(store, "parquet/*", "from_parquet"), { id: "UInt64", name: "String" }, false);
});

test("Kinesis records", async () => {
  await kinesis.createStream("from_kinesis", 1);
  const entries = records.map((record) => ({ PartitionKey: "k", Data: Buffer.from(JSON.stringify(record)) }));
  await kinesis.put("from_kinesis", entries);
  await roundTrip(kinesisPipe(kinesis, "from_kinesis"), types);
});

test.skipIf(kafkaMissing !== undefined)("Kafka messages", async () => {
  if (kafka === undefined) return;
  await using tool = new KafkaTool(kafka);
  await tool.topic("from_kafka");
  await tool.send(records.map((record) => ({ topic: "from_kafka", value: JSON.stringify(record) })));
  await roundTrip(kafkaBody(kafka, "from_kafka", "from_kafka"), types);
});
