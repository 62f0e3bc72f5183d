/** Pipes of every kind into an external server that is killed under them: every row once, also behind a view. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { externalServiceOn, pipeRights } from "../../../harness/clickhouse/external-service.ts";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { kafkaMissing, startKafka, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { startKinesalite, type TestKinesis } from "../../../harness/kinesis/kinesis.ts";
import { events, kinesisPipe } from "../../../harness/kinesis/pipes.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, type Served, serve, until, untilText } from "../../../harness/serve.ts";

/** With the rights of docs/external.md, and no others. */
const pipesUser = {
  name: "pipes",
  password: "secret-of-pipes",
  grants: pipeRights,
};
let peers: AsyncDisposableStack;
let server: TestServer;
let served: Served;
let service: BenchService;
const running: string[] = [];

beforeAll(async () => {
  peers = new AsyncDisposableStack();
  server = peers.use(await TestServer.start({ users: [serverUser, pipesUser] }));
  served = peers.use(await serve());
  service = await externalServiceOn(served, server, "app", pipesUser);
});
afterAll(async () => {
  await peers?.disposeAsync();
});

const look = (sql: string) => query(service, sql).catch((error: Error) => error.message);
/** A table with a view that copies its rows, for a pipe that does not manage it. */
async function tableWithView(name: string): Promise<void> {
  await query(service, `CREATE TABLE ${name} (id UInt64, name String) ENGINE = MergeTree ORDER BY id`);
  await query(service, `CREATE TABLE ${name}_copy (id UInt64, name String) ENGINE = MergeTree ORDER BY id`);
  await query(service, `CREATE MATERIALIZED VIEW ${name}_view TO ${name}_copy AS SELECT id, name FROM ${name}`);
}
const given = { destination: { managedTable: false, tableDefinition: undefined } };

/** Kills the server while the pipe has loaded a part, and starts it again. */
async function killUnder(table: string): Promise<void> {
  await until("a part is loaded", async () => Number(await look(`SELECT count() FROM ${table}`)) > 0);
  await server.kill();
  await server.restart();
}

/** Every row of 0 to `count - 1` once, in the table and behind its view. */
async function untilExact(table: string, count: number): Promise<void> {
  const exact = `${count}\t${count}\t${(count * (count - 1)) / 2}`;
  await untilText(`all rows in ${table}`, exact, () => look(`SELECT count(), uniqExact(id), sum(id) FROM ${table}`));
  expect(await look(`SELECT count(), uniqExact(id), sum(id) FROM ${table}_copy`)).toBe(exact);
}

describe("pipes into an external server", () => {
  test("objects", async () => {
    const store: TestStore = peers.use(await startFauxqs());
    await tableWithView("objects");
    for (let file = 0; file < 12; file += 1) {
      await store.put(`in/${String(file).padStart(2, "0")}.json`, rows(file * 2_000, (file + 1) * 2_000));
    }
    const settings = { object_storage_max_file_count: 1, object_storage_concurrency: 1 };
    const id = await createPipe(
      served,
      service,
      pipeBody(store, "in/*.json", "objects", { ...given, body: { settings } }),
    );
    running.push(id);
    await killUnder("objects");
    await untilState(served, service, id, "Completed");
    await untilExact("objects", 24_000);
    expect((await details(served, service, id)).progress.sentRows).toBe(24_000);
  });

  test.skipIf(kafkaMissing !== undefined)("Kafka", async () => {
    const kafka: TestKafka = peers.use(await startKafka());
    const tool = peers.use(new KafkaTool(kafka));
    await tableWithView("orders");
    await tool.topic("orders", 2);
    await tool.send(orders("orders", 0, 5_000, 2));
    running.push(await createPipe(served, service, kafkaBody(kafka, "orders", "orders", given)));
    const killed = killUnder("orders");
    await tool.send(orders("orders", 5_000, 15_000, 2));
    await killed;
    await tool.send(orders("orders", 15_000, 20_000, 2));
    await untilExact("orders", 20_000);
  });

  test("Kinesis", async () => {
    const kinesis: TestKinesis = peers.use(await startKinesalite());
    await tableWithView("events");
    await kinesis.createStream("events", 2);
    await kinesis.put("events", events(0, 500));
    running.push(await createPipe(served, service, kinesisPipe(kinesis, "events", given)));
    const killed = killUnder("events");
    await kinesis.put("events", events(500, 1_000));
    await killed;
    await kinesis.put("events", events(1_000, 1_500));
    await untilExact("events", 1_500);
  });

  test.skipIf(postgresMissing(18) !== undefined)("Postgres", async () => {
    const postgres = peers.use(await TestPostgres.start());
    await postgres.sql("CREATE TABLE people (id bigint PRIMARY KEY, name text)");
    await postgres.sql("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(1, 5000) n");
    running.push(await cdcPipe(served, service, postgres, ["people"]));
    const killed = killUnder("people");
    await postgres.sql("UPDATE people SET name = 'changed ' || id WHERE id % 3 = 0");
    await postgres.sql("DELETE FROM people WHERE id % 7 = 0");
    await killed;
    await postgres.sql("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(5001, 6000) n");
    await untilEqual(postgres, service, "people", { source: "id, name", destination: "toString(id), name" });
  });

  test("their tables remember tokens, and they wait while the service is stopped", async () => {
    const window = await look(
      "SELECT extract(create_table_query, 'deduplication_window = (\\\\d+)') FROM system.tables WHERE database = 'app' AND name = 'objects'",
    );
    expect(Number(window)).toBeGreaterThanOrEqual(100_000);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    const states = () => Promise.all(running.slice(1).map(async (id) => (await details(served, service, id)).state));
    await until("the pipes wait", async () =>
      (await states()).every((state) => !/Running|Snapshot|Failed/.test(state)),
    );
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await until("the pipes run", async () => (await states()).every((state) => state === "Running"));
  });
});
