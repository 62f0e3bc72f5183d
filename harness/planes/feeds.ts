/** Pipes of all kinds with local peers into one external service, and sources that grow. */
import type { TestServer } from "../clickhouse/server.ts";
import { startKafka } from "../kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../kafka/pipes.ts";
import { startKinesalite } from "../kinesis/kinesis.ts";
import { events, kinesisPipe } from "../kinesis/pipes.ts";
import { startFauxqs } from "../objects/pipe-stores.ts";
import { type PipeBody, pipeBody, rows } from "../pipes.ts";
import { cdcBody, destinationSum, sourceSum } from "../postgres/pipes.ts";
import { TestPostgres } from "../postgres/postgres.ts";

/** The database of the external server that the pipes write to. */
export const planesDatabase = "app";

/** A pipe, and its source. */
export type PlanesFeed = {
  readonly name: string;
  readonly body: PipeBody;
  grow(next: () => number): Promise<void>;
  /** What should be in the destination, and what is. Equal when every row is there once. */
  compare(): Promise<{ readonly expected: string; readonly found: string }>;
};

/** Everything that they start ends with `stack`. */
export async function startPlanesFeeds(clickhouse: TestServer, stack: AsyncDisposableStack): Promise<PlanesFeed[]> {
  return [
    ...(await objectFeeds(clickhouse, stack, ["objects_a", "objects_b", "objects_c", "objects_d"])),
    ...(await kafkaFeeds(clickhouse, stack, ["orders_a", "orders_b", "orders_c"])),
    ...(await kinesisFeeds(clickhouse, stack, ["events_a"])),
    ...(await postgresFeeds(clickhouse, stack, ["accounts_a", "accounts_b"])),
  ];
}

async function objectFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, tables: readonly string[]) {
  const store = stack.use(await startFauxqs());
  return tables.map((table) => {
    const settings = { object_storage_polling_interval_ms: 300, object_storage_max_file_count: 3 };
    const body = pipeBody(store, `${table}/*.json`, table, { source: { isContinuous: true }, body: { settings } });
    let files = 0;
    return countedFeed(clickhouse, table, body, async (from, next) => {
      const to = from + 200 + Math.floor(next() * 3_000);
      await store.put(`${table}/${1000 + files}.json`, rows(from, to));
      files += 1;
      return to;
    });
  });
}

async function kafkaFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, tables: readonly string[]) {
  const kafka = stack.use(await startKafka());
  const tool = stack.use(new KafkaTool(kafka));
  const feeds: PlanesFeed[] = [];
  for (const table of tables) {
    await tool.topic(table, 2);
    const feed = countedFeed(clickhouse, table, kafkaBody(kafka, table, table), async (from) => {
      await tool.send(orders(table, from, from + 500, 2));
      return from + 500;
    });
    feeds.push(feed);
  }
  return feeds;
}

async function kinesisFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, tables: readonly string[]) {
  const kinesis = stack.use(await startKinesalite());
  const feeds: PlanesFeed[] = [];
  for (const table of tables) {
    await kinesis.createStream(table, 2);
    const feed = countedFeed(clickhouse, table, kinesisPipe(kinesis, table), async (from) => {
      await kinesis.put(table, events(from, from + 300));
      return from + 300;
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
      const sql = `SELECT count(), uniqExact(id), toString(sum(id)) FROM ${planesDatabase}.${table} FORMAT TSV`;
      const found = (await clickhouse.client.text(sql)).trim();
      return { expected: `${sent}\t${sent}\t${(sent * (sent - 1)) / 2}`, found };
    },
  };
}

async function postgresFeeds(clickhouse: TestServer, stack: AsyncDisposableStack, tables: readonly string[]) {
  const source = stack.use(await TestPostgres.start({ version: 18 }));
  const feeds: PlanesFeed[] = [];
  for (const table of tables) {
    await source.sql(`CREATE TABLE ${table} (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)`);
    await source.sql(`INSERT INTO ${table} SELECT g, g FROM generate_series(1, 500) g`);
    const ask = async (sql: string) => (await clickhouse.client.text(sql)).trimEnd();
    feeds.push({
      name: table,
      body: cdcBody(source, [table]),
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
    });
  }
  return feeds;
}
