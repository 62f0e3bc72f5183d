/** What a source has is listed with its credentials alone, page by page, and leaves no trace of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kafkaMissing, startKafka, type TestKafka } from "../../../harness/kafka/kafka.ts";
import { KafkaTool, orders } from "../../../harness/kafka/pipes.ts";
import {
  accessKey as kinesisKey,
  region,
  startKinesalite,
  type TestKinesis,
} from "../../../harness/kinesis/kinesis.ts";
import { accessKey, startFauxqs, startVersitygw, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type Served, serve } from "../../../harness/serve.ts";
import type { ClientInput } from "../../../src/api/operation.ts";
import type { pipePreparationOperations } from "../../../src/api/pipe-preparation.ts";

type Body = ClientInput<(typeof pipePreparationOperations)["listSource"]>["body"];
type Params = { organizationId: string; serviceId: string };

let served: Served;
let params: Params;
let log = "";

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_LOG_LEVEL: "debug" } });
  served.process.stdout?.on("data", (chunk) => {
    log += String(chunk);
  });
  served.process.stderr?.on("data", (chunk) => {
    log += String(chunk);
  });
  const { organizationId } = served.credentials;
  // Never started: a listing needs no engine.
  const { service } = await served.api.createService({ params: { organizationId }, body: { name: "listing" } });
  await served.api.updateServiceState({
    params: { organizationId, serviceId: service.id },
    body: { command: "stop" },
  });
  params = { organizationId, serviceId: service.id };
});
afterAll(async () => await served[Symbol.asyncDispose]());

const list = async (source: Body["source"], more: Partial<Body> = {}) =>
  await served.api.listSource({ params, body: { source, ...more } });

test.skipIf(kafkaMissing !== undefined)("topics of a Kafka cluster with partitions and messages", async () => {
  await using kafka: TestKafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await tool.topic("empty");
  await tool.topic("orders", 3);
  await tool.send(orders("orders", 0, 100, 3));
  const source = { messageBroker: { brokers: kafka.brokers } };
  expect(await list(source)).toEqual({
    topics: [
      { name: "empty", partitions: 1, messages: 0 },
      { name: "orders", partitions: 3, messages: 100 },
    ],
  });
  const first = await list(source, { limit: 1 });
  expect([first.topics?.map(({ name }) => name), first.nextCursor]).toEqual([["empty"], "empty"]);
  const second = await list(source, { limit: 1, cursor: first.nextCursor as string });
  expect([second.topics?.map(({ name }) => name), second.nextCursor]).toEqual([["orders"], undefined]);
});

test("streams of a Kinesis account with open shards", async () => {
  await using kinesis: TestKinesis = await startKinesalite();
  await kinesis.createStream("one", 1);
  await kinesis.createStream("three", 3);
  const managedStream = { region, endpoint: kinesis.endpoint, accessKey: kinesisKey };
  expect(await list({ managedStream })).toEqual({
    streams: [
      { name: "one", openShards: 1 },
      { name: "three", openShards: 3 },
    ],
  });
  const first = await list({ managedStream }, { limit: 1 });
  expect(first).toEqual({ streams: [{ name: "one", openShards: 1 }], nextCursor: "one" });
  const second = await list({ managedStream }, { limit: 1, cursor: "one" });
  expect(second).toEqual({ streams: [{ name: "three", openShards: 3 }] });
});

const stores: Readonly<Record<string, () => Promise<TestStore>>> = {
  fauxqs: startFauxqs,
  ...(versitygwMissing === undefined ? { versitygw: startVersitygw } : {}),
};

test.each(Object.keys(stores))("prefixes with counts and objects with sizes: %s", async (name) => {
  await using store: TestStore = await (stores[name] as () => Promise<TestStore>)();
  await store.put("top.json", "{}");
  for (let at = 0; at < 5; at += 1) await store.put(`events/2026/${at}.json`, "0123456789");
  await store.put("events/readme.txt", "abc");
  await store.put("logs/a", "12");
  const objectStorage = { url: store.url(""), authentication: "IAM_USER" as const, accessKey };
  const root = {
    prefixes: [
      { prefix: "events/", objects: 6, bytes: 53 },
      { prefix: "logs/", objects: 1, bytes: 2 },
    ],
    objects: [{ key: "top.json", bytes: 2 }],
  };
  expect(await list({ objectStorage })).toEqual(root);
  const below = {
    prefixes: [{ prefix: "events/2026/", objects: 5, bytes: 50 }],
    objects: [{ key: "events/readme.txt", bytes: 3 }],
  };
  expect(await list({ objectStorage }, { within: "events/" })).toEqual(below);
  expect(await list({ objectStorage: { ...objectStorage, url: store.url("events/*.json") } })).toEqual(below);
  const seen: (string | undefined)[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await list({ objectStorage }, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...(page.prefixes ?? []).map(({ prefix }) => prefix), ...(page.objects ?? []).map(({ key }) => key));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual(["events/", "logs/", "top.json"]);
});

test("schemas, tables with sizes, columns and keys of a Postgres database", async () => {
  await using postgres = await TestPostgres.start();
  await postgres.sql(`CREATE SCHEMA shop;
    CREATE TABLE shop.orders (id bigint, line int, note text, price numeric(10, 2) NOT NULL, PRIMARY KEY (id, line));
    INSERT INTO shop.orders SELECT i, 1, repeat('x', 100), 1 FROM generate_series(1, 10000) i; ANALYZE shop.orders;
    CREATE TABLE shop.plain (at timestamptz); ALTER TABLE shop.plain REPLICA IDENTITY FULL;
    CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
    INSERT INTO parts SELECT generate_series(0, 99); ANALYZE parts;
    CREATE PUBLICATION pub FOR TABLE shop.orders, parts;
    CREATE ROLE narrow LOGIN PASSWORD 'SK-of-narrow'; GRANT USAGE ON SCHEMA shop TO narrow`);
  const { host, port, database, user, password } = postgres;
  const relationalDb = { host, port, database, disableTls: true, credentials: { username: user, password } };
  const all = await list({ relationalDb });
  expect(all.schemas).toEqual([
    { name: "public", tables: 1 },
    { name: "shop", tables: 2 },
  ]);
  expect(all.tables).toMatchObject([
    { schema: "public", name: "parts", isPartitioned: true, estimatedRows: 100, publications: ["pub"] },
    {
      ...{ schema: "shop", name: "orders", isPartitioned: false, isReadable: true, estimatedRows: 10_000 },
      ...{ primaryKey: ["id", "line"], replicaIdentity: "default", publications: ["pub"] },
      columns: [
        { name: "id", type: "bigint", nullable: false, destinationType: "Int64" },
        { name: "line", type: "integer", nullable: false, destinationType: "Int32" },
        { name: "note", type: "text", nullable: true, destinationType: "Nullable(String)" },
        { name: "price", type: "numeric(10,2)", nullable: false, destinationType: "Decimal(10, 2)" },
      ],
    },
    { schema: "shop", name: "plain", primaryKey: [], replicaIdentity: "full", publications: [] },
  ]);
  expect(all.tables?.[1]?.bytes).toBeGreaterThan(1_000_000);
  // Never analyzed: nothing is known of its rows.
  expect(all.tables?.[2]).not.toHaveProperty("estimatedRows");
  const first = await list({ relationalDb }, { within: "shop", limit: 1 });
  expect(first.tables?.map(({ name }) => name)).toEqual(["orders"]);
  const second = await list({ relationalDb }, { within: "shop", limit: 1, cursor: first.nextCursor as string });
  expect([second.schemas, second.tables?.map(({ name }) => name)]).toEqual([undefined, ["plain"]]);
  await expect(list({ relationalDb }, { cursor: "no cursor" })).rejects.toMatchObject({ status: 400 });
  const narrow = { ...relationalDb, credentials: { username: "narrow", password: "SK-of-narrow" } };
  expect((await list({ relationalDb: narrow })).tables?.map(({ isReadable }) => isReadable)).toEqual([
    false,
    false,
    false,
  ]);
  await using _locked = await locked(postgres, "shop.orders");
  const sizes = (await list({ relationalDb })).tables?.map(({ bytes }) => bytes);
  expect(sizes).toEqual([undefined, undefined, undefined]);
});

async function locked(postgres: TestPostgres, table: string): Promise<AsyncDisposable> {
  const client = await postgres.client();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return { [Symbol.asyncDispose]: async () => await client.end() };
}

test("a failure names the member, and secrets are in no answer, no log and no stored row", async () => {
  const secrets = ["SK-of-kinesis-tests", "SK-of-narrow", "SK-wrong-broker", accessKey.secretKey];
  const failures = [
    list({ messageBroker: { brokers: "127.0.0.1:1", credentials: { username: "u", password: "SK-wrong-broker" } } }),
    list({ managedStream: { region, endpoint: "http://127.0.0.1:1", accessKey: kinesisKey } }),
    list({ objectStorage: { url: "http://127.0.0.1:1/bucket/", accessKey } }),
    list({
      relationalDb: {
        ...{ host: "127.0.0.1", port: 1, database: "d", disableTls: true },
        credentials: { username: "u", password: "SK-of-narrow" },
      },
    }),
  ];
  for (const failure of await Promise.allSettled(failures)) {
    expect(failure).toMatchObject({ status: "rejected", reason: { status: 400, code: "SOURCE_UNREACHABLE" } });
    const text = JSON.stringify(
      (failure as PromiseRejectedResult).reason,
      Object.getOwnPropertyNames((failure as PromiseRejectedResult).reason),
    );
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
  const stored = readFileSync(join(served.dataDir, "millrace.db"), "latin1");
  const wal = readFileSync(join(served.dataDir, "millrace.db-wal"), "latin1");
  for (const secret of secrets) expect(`${log}${stored}${wal}`).not.toContain(secret);
  expect(log.length).toBeGreaterThan(0);
});
