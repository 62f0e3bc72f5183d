/** Pipes of all kinds with local peers into one external service, and sources that grow. */
import { gzipSync } from "node:zlib";
import type { TestServer } from "../clickhouse/server.ts";
import { startKafka, type TestKafka } from "../kafka/kafka.ts";
import { type Codec, KafkaTool, kafkaBody, orders } from "../kafka/pipes.ts";
import { startKinesalite } from "../kinesis/kinesis.ts";
import { events, kinesisPipe } from "../kinesis/pipes.ts";
import { Wire } from "../network/wire.ts";
import { startFauxqs } from "../objects/pipe-stores.ts";
import { type PipeBody, pipeBody, rows } from "../pipes.ts";
import { addressOf } from "../postgres/failover.ts";
import { cdcBody, destinationSum, sourceSum } from "../postgres/pipes.ts";
import { TestPostgres } from "../postgres/postgres.ts";

/** The database of the external server that the pipes write to. */
export const planesDatabase = "app";

/** A pipe, and its source. */
export type PlanesFeed = {
  /** Names the table. */
  readonly name: string;
  readonly body: PipeBody;
  grow(next: () => number): Promise<void>;
  /** What should be in the destination, and what is. Equal when every row is there once, with its content. */
  compare(): Promise<{ readonly expected: string; readonly found: string }>;
  /** The number of rows that are in the destination more than once. */
  doubles(): Promise<number>;
};

export type PlanesSources = {
  readonly feeds: readonly PlanesFeed[];
  readonly kafka: TestKafka;
  readonly source: TestPostgres;
  /** Between the processes that run the pipes, and the sources. */
  readonly wires: { readonly kafka: Wire; readonly kinesis: Wire; readonly objects: Wire; readonly source: Wire };
};

/** Twenty pipes. Everything that they start ends with `stack`. */
export async function startPlanesFeeds(clickhouse: TestServer, stack: AsyncDisposableStack): Promise<PlanesSources> {
  const wire = async () => stack.use(await Wire.start());
  const wires = { kafka: await wire(), kinesis: await wire(), objects: await wire(), source: await wire() };
  const objects = await objectFeeds(clickhouse, stack, wires.objects);
  const kafka = stack.use(await startKafka({ through: wires.kafka.port }));
  wires.kafka.target = kafka.directPort;
  const source = stack.use(await TestPostgres.start({ version: 18 }));
  wires.source.target = source.port;
  return {
    feeds: [
      ...objects,
      ...(await kafkaFeeds(clickhouse, stack, kafka)),
      ...(await kinesisFeeds(clickhouse, stack, wires.kinesis)),
      ...(await postgresFeeds(clickhouse, source, wires.source)),
    ],
    ...{ kafka, source, wires },
  };
}

const objectKinds = [
  { table: "objects_a", perBatch: 3 },
  { table: "objects_b", perBatch: 1 },
  { table: "objects_c", perBatch: 3, suffix: "json.gz" },
  { table: "objects_d", perBatch: 3, suffix: "csv" },
  { table: "objects_e", perBatch: 3, concurrency: 3 },
  { table: "objects_f", perBatch: 2, replicas: 2 },
] as const satisfies readonly {
  table: string;
  perBatch: number;
  suffix?: string;
  concurrency?: number;
  replicas?: number;
}[];

async function objectFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, wire: Wire): Promise<PlanesFeed[]> {
  const store = stack.use(await startFauxqs());
  const own = new URL(store.endpoint);
  wire.target = Number(own.port);
  const reached = { ...store, url: (pattern: string) => store.url(pattern).replace(own.port, String(wire.port)) };
  return objectKinds.map((kind) => {
    const { table, perBatch, suffix = "json", concurrency, replicas } = { ...noOptions, ...kind };
    const settings = {
      object_storage_polling_interval_ms: 300,
      object_storage_max_file_count: perBatch,
      ...(concurrency === undefined ? {} : { object_storage_concurrency: concurrency }),
    };
    const scaling = replicas === undefined ? {} : { scaling: { replicas } };
    const more = { source: { isContinuous: true }, body: { settings, ...scaling } };
    let files = 0;
    return countedFeed(
      clickhouse,
      table,
      pipeBody(reached, `${table}/*.${suffix}`, table, more),
      async (from, next) => {
        const to = from + 20 + Math.floor(next() * 400);
        await store.put(`${table}/${1000 + files}.${suffix}`, contentOf(suffix, from, to));
        files += 1;
        return to;
      },
    );
  });
}

type ObjectOptions = { suffix?: string; concurrency?: number; replicas?: number };
const noOptions: ObjectOptions = {};

function contentOf(suffix: string, from: number, to: number): string | Buffer {
  if (suffix === "json.gz") return gzipSync(rows(from, to));
  if (suffix === "json") return rows(from, to);
  const lines = Array.from({ length: to - from }, (_, i) => `${from + i},name ${from + i}\n`);
  return `id,name\n${lines.join("")}`;
}

const kafkaKinds: readonly { table: string; partitions: number; compression?: Codec; replicas?: number }[] = [
  { table: "orders_a", partitions: 1 },
  { table: "orders_b", partitions: 2 },
  { table: "orders_c", partitions: 4 },
  { table: "orders_d", partitions: 2, compression: "gzip" },
  { table: "orders_e", partitions: 2, compression: "lz4" },
  { table: "orders_f", partitions: 3, replicas: 2 },
  { table: "orders_g", partitions: 2, compression: "zstd" },
];

async function kafkaFeeds(
  clickhouse: TestServer,
  stack: AsyncDisposableStack,
  kafka: TestKafka,
): Promise<PlanesFeed[]> {
  const tool = stack.use(new KafkaTool(kafka));
  const feeds: PlanesFeed[] = [];
  for (const { table, partitions, compression = "none", replicas } of kafkaKinds) {
    await tool.topic(table, partitions);
    const scaling = replicas === undefined ? {} : { scaling: { replicas } };
    const feed = countedFeed(
      clickhouse,
      table,
      kafkaBody(kafka, table, table, { body: scaling }),
      async (from, next) => {
        const to = from + 20 + Math.floor(next() * 300);
        await tool.send(orders(table, from, to, partitions), compression);
        return to;
      },
    );
    feeds.push(feed);
  }
  return feeds;
}

async function kinesisFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, wire: Wire): Promise<PlanesFeed[]> {
  const kinesis = stack.use(await startKinesalite());
  wire.target = Number(new URL(kinesis.endpoint).port);
  const reached = { ...kinesis, endpoint: `http://127.0.0.1:${wire.port}` };
  const feeds: PlanesFeed[] = [];
  for (const [at, table] of ["events_a", "events_b", "events_c"].entries()) {
    await kinesis.createStream(table, at + 1);
    const feed = countedFeed(clickhouse, table, kinesisPipe(reached, table), async (from, next) => {
      const to = from + 20 + Math.floor(next() * 150);
      await kinesis.put(table, events(from, to));
      return to;
    });
    feeds.push(feed);
  }
  return feeds;
}

/** Rows with the ids 0 to `sent - 1`. */
function countedFeed(
  clickhouse: TestServer,
  table: string,
  body: PipeBody,
  send: (from: number, next: () => number) => Promise<number>,
): PlanesFeed {
  let sent = 0;
  return {
    name: table,
    body,
    async grow(next) {
      sent = await send(sent, next);
    },
    async compare() {
      const sum = (id: string, name: string) => `SELECT count(), uniqExact(${id}), sum(cityHash64(${id}, ${name}))`;
      const wanted = `${sum("number", "concat('name ', toString(number))")} FROM numbers(${sent}) FORMAT TSV`;
      const found = await clickhouse.client.text(`${sum("id", "name")} FROM ${planesDatabase}.${table} FORMAT TSV`);
      return { expected: (await clickhouse.client.text(wanted)).trim(), found: found.trim() };
    },
    async doubles() {
      const sql = `SELECT count() - uniqExact(id) FROM merge('${planesDatabase}', '^${table}$')`;
      // There is no table until the pipe has begun.
      return Number(await clickhouse.client.text(sql).catch(() => "0"));
    },
  };
}

const postgresKinds: readonly { table: string; settings?: object }[] = [
  { table: "accounts_a" },
  { table: "accounts_b", settings: { pullBatchSize: 100 } },
  { table: "accounts_c", settings: { syncIntervalSeconds: 2 } },
  { table: "accounts_d", settings: { snapshotNumRowsPerPartition: 1_000 } },
];

async function postgresFeeds(clickhouse: TestServer, source: TestPostgres, wire: Wire): Promise<PlanesFeed[]> {
  const reached = addressOf(source, wire);
  const ask = async (sql: string) => (await clickhouse.client.text(sql)).trimEnd();
  const feeds: PlanesFeed[] = [];
  for (const { table, settings = {} } of postgresKinds) {
    await source.sql(`CREATE TABLE ${table} (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)`);
    await source.sql(`INSERT INTO ${table} SELECT g, g FROM generate_series(1, 500) g`);
    feeds.push({
      name: table,
      body: cdcBody(reached, [table], { settings }),
      async grow(next) {
        const insert = `INSERT INTO ${table} SELECT coalesce(max(id), 0) + g, g FROM ${table}, generate_series(1, 50) g GROUP BY g`;
        await source.sql(insert);
        await source.sql(`UPDATE ${table} SET n = n + 1 WHERE id % 7 = ${Math.floor(next() * 7)}`);
        await source.sql(`DELETE FROM ${table} WHERE id % 97 = ${Math.floor(next() * 97)}`);
      },
      async compare() {
        const columns = "id, n";
        const found = await destinationSum(ask, `${planesDatabase}.${table}`, columns);
        return { expected: await sourceSum(source, table, columns), found };
      },
      // Its table keeps versions of rows.
      doubles: async () => 0,
    });
  }
  return feeds;
}
