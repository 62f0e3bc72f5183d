/** validate makes the checks of create, reports each of them, and creates nothing. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { kafkaMissing, startKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { startKinesalite } from "../../../harness/kinesis/kinesis.ts";
import { events, kinesisPipe } from "../../../harness/kinesis/pipes.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, type PipeBody, pipeBody, rows } from "../../../harness/pipes.ts";
import { cdcBody } from "../../../harness/postgres/pipes.ts";
import { TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  service = await runningService(served, { idleScaling: false });
  await store.put("d/000.json", rows(0, 10));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const validate = async (body: PipeBody) => await served.api.validatePipe({ params: service.params, body });
const withSamples = (body: PipeBody): PipeBody => ({ ...body, source: { ...body.source, validateSamples: true } });
const first = ["definition", "service", "limits", "neighbours", "tableDefinition", "table"];
const failed = async (body: PipeBody) => {
  const { ok, checks } = await validate(body);
  expect(ok).toBe(checks.every((check) => check.ok));
  return checks.filter((check) => !check.ok);
};

async function expectFine(body: PipeBody, ofSource: readonly string[]): Promise<void> {
  const { ok, checks } = await validate(body);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  expect(ok).toBe(true);
  const isOwned = body.source.relationalDb !== undefined;
  expect(checks.map(({ name }) => name)).toEqual([...(isOwned ? first.slice(0, 4) : first), ...ofSource]);
  for (const { ms } of checks) expect(ms).toBeGreaterThanOrEqual(0);
  expect(await served.api.listPipes({ params: service.params })).toEqual([]);
  expect(await query(service, "SELECT count() FROM system.tables WHERE database = 'default'")).toBe("0");
}

test("objects: a good definition has every check, and creates nothing", async () => {
  const body = withSamples(pipeBody(store, "d/*.json", "fine"));
  await expectFine(body, ["connection", "login", "bucket", "format", "mapping", "samples"]);
});

test("Kinesis", async () => {
  await using kinesis = await startKinesalite();
  await kinesis.createStream("checked", 1);
  await kinesis.put("checked", events(0, 10));
  await expectFine(withSamples(kinesisPipe(kinesis, "checked")), [
    "mapping",
    "connection",
    "login",
    "stream",
    "samples",
  ]);
  const [missing] = await failed(kinesisPipe(kinesis, "missing"));
  expect(missing).toMatchObject({ name: "stream", issues: [{ path: "source.managedStream.streamName" }] });
});

test.skipIf(kafkaMissing !== undefined)("Kafka", async () => {
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await tool.topic("checked");
  await tool.send(orders("checked", 0, 10));
  const body = withSamples(kafkaBody(kafka, "checked", "checked"));
  await expectFine(body, ["mapping", "connection", "login", "topics", "samples"]);
  const [missing] = await failed(kafkaBody(kafka, "nowhere", "t"));
  expect(missing).toMatchObject({ name: "topics", issues: [{ path: "source.messageBroker.topics" }] });
  const wrong = {
    columns: [
      { name: "id", type: "UUID" },
      { name: "name", type: "String" },
    ],
  };
  const samples = await failed(withSamples(kafkaBody(kafka, "checked", "t", { destination: wrong })));
  expect(samples.map(({ name }) => name)).toEqual(["samples"]);
  expect(samples[0]?.issues?.[0]?.message).toContain("does not fit UUID");
});

test("a misspelt field, and one that no column takes, are warned of by validate and by create", async () => {
  const misspelt = [
    { sourceField: "id", destinationField: "id" },
    { sourceField: "naem", destinationField: "name" },
  ];
  const body = pipeBody(store, "d/*.json", "warned", { body: { fieldMappings: misspelt, startPaused: true } });
  const warnings = [
    { path: "fieldMappings", message: 'no sample has the field "naem": the column name stays empty' },
    { path: "fieldMappings", message: "the samples have fields that no column takes: name" },
  ];
  expect(await validate(body)).toMatchObject({ ok: true, warnings });
  expect(await validate(pipeBody(store, "d/*.json", "warned"))).not.toHaveProperty("warnings");
  // A prefix without objects has no sample, which is not a reason to refuse the pipe.
  expect(await validate(pipeBody(store, "later/*.json", "warned"))).toMatchObject({ ok: true });
  const made = await served.api.createPipe({ params: service.params, body });
  expect(made.warnings).toEqual(warnings);
  await served.api.deletePipe({ params: { ...service.params, pipeId: made.id } });
});

test("what does not depend on a failed check is checked too, and create throws the first", async () => {
  const source = { url: store.url("d/*.json").replace("/bucket/", "/other/") };
  const columns = [
    { name: "id", type: "UInt64" },
    { name: "name", type: "Strin" },
  ];
  const body = pipeBody(store, "", "several", { source, destination: { columns } });
  const found = await failed(body);
  expect(found).toMatchObject([
    { name: "tableDefinition", issues: [{ path: "destination.columns.1.type" }], remedy: expect.any(String) },
    { name: "bucket", issues: [{ path: "source.objectStorage.url" }], remedy: expect.any(String) },
  ]);
  const refused = await createPipe(served, service, body).catch((error) => error);
  expect(refused).toMatchObject({ code: "DESTINATION_INVALID", issues: found[0]?.issues });
  const definition = await failed(pipeBody(store, "d/*.json", "t", { destination: { columns: [] } }));
  expect(definition).toMatchObject([{ name: "definition", issues: [{ path: "destination.columns" }, {}, {}, {}] }]);
});

test("Postgres: login, tables and publication are told apart, and no secret is in an answer", async () => {
  await using postgres = await TestPostgres.start();
  await postgres.sql("CREATE TABLE checked (id int PRIMARY KEY); CREATE TABLE nokey (v int)");
  await expectFine(
    cdcBody(postgres, ["checked"]),
    [
      ...["connection", "login", "database", "server", "replication", "tables", "publication", "targetTables"],
    ].toSpliced(7, 0, "slot"),
  );
  const { user: username } = postgres;
  const password = "SK-wrong-password";
  const wrong = await validate(cdcBody(postgres, ["checked"], { source: { credentials: { username, password } } }));
  expect(wrong.checks.slice(-2)).toMatchObject([
    { name: "connection", ok: true },
    { name: "login", ok: false, issues: [{ path: "source.relationalDb.credentials" }] },
  ]);
  expect(JSON.stringify(wrong)).not.toContain(password);
  const many = cdcBody(postgres, ["missing"], { settings: { publicationName: "nowhere" } });
  expect((await failed(many)).map(({ name }) => name)).toEqual(["tables", "publication"]);
  const closed = await failed(cdcBody(postgres, ["checked"], { source: { port: 1 } }));
  expect(closed).toMatchObject([{ name: "connection", issues: [{ path: "source.relationalDb.port" }] }]);
});

test("a service that is not running is not woken, and its checks are absent", async () => {
  const { organizationId } = served.credentials;
  const params = {
    organizationId,
    serviceId: (await served.api.createService({ params: { organizationId }, body: { name: "stopped" } })).service.id,
  };
  await served.api.updateServiceState({ params, body: { command: "stop" } });
  const { ok, checks } = await served.api.validatePipe({ params, body: pipeBody(store, "d/*.json", "t") });
  expect(ok).toBe(false);
  expect(checks.map((check) => [check.name, check.ok])).toEqual([
    ["definition", true],
    ["service", false],
    ["limits", true],
    ["neighbours", true],
  ]);
});
