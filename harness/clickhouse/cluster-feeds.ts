/** Pipes into a test cluster, one of each kind, with sources that grow. Everything they start ends with `stack`. */
import { kafkaMissing, startKafka } from "../kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../kafka/pipes.ts";
import { kinesisMissing, startKinesalite } from "../kinesis/kinesis.ts";
import { events, kinesisPipe } from "../kinesis/pipes.ts";
import { requireTool } from "../missing.ts";
import { startFauxqs } from "../objects/pipe-stores.ts";
import { pipeBody, rows } from "../pipes.ts";
import { postgresMissing } from "../postgres/postgres.ts";
import { clusterDatabase, type TestCluster } from "./cluster.ts";
import { type ClusterTable, createTables } from "./cluster-faults.ts";
import { startLedger } from "./cluster-postgres.ts";
import { PipeRun } from "./pipe-run.ts";

/** A pipe and its source, whose rows have the ids 0 to `sent - 1`. */
export type Feed = {
  readonly table: ClusterTable;
  readonly pipe: PipeRun;
  sent: number;
  grow(next: () => number): Promise<void>;
  /** Compares what the pipe has besides its table, and answers the checksum. */
  compareRest?(): Promise<string>;
};

const messagesPerRound = 3_000;

/** Throws MissingTool unless every source can be started here. */
export function requireSources(): void {
  for (const reason of [kafkaMissing, kinesisMissing("kinesalite"), postgresMissing(18)]) requireTool(reason);
}

/** Starts the sources. The pipes do not run yet. */
export async function startFeeds(cluster: TestCluster, stack: AsyncDisposableStack): Promise<Feed[]> {
  const feeds: Feed[] = [];
  for (const start of [objectFeed, kafkaFeed, kinesisFeed, postgresFeed]) feeds.push(await start(cluster, stack));
  return feeds;
}

async function objectFeed(cluster: TestCluster, stack: AsyncDisposableStack): Promise<Feed> {
  const store = stack.use(await startFauxqs());
  const table = await createTables(cluster, "objects");
  const body = pipeBody(store, "objects/*.json", table.name, {
    source: { isContinuous: true },
    ...into(table),
    body: { settings: { object_storage_polling_interval_ms: 300, object_storage_max_file_count: 3 } },
  });
  let files = 0;
  const feed: Feed = {
    table,
    pipe: stack.use(new PipeRun(table.name, body, cluster.address)),
    sent: 0,
    async grow(next) {
      const count = 500 + Math.floor(next() * 20_000);
      await store.put(`objects/${1000 + files}.json`, rows(feed.sent, feed.sent + count));
      files += 1;
      feed.sent += count;
    },
  };
  return feed;
}

async function kafkaFeed(cluster: TestCluster, stack: AsyncDisposableStack): Promise<Feed> {
  const kafka = stack.use(await startKafka());
  const tool = stack.use(new KafkaTool(kafka));
  await tool.topic("orders", 3);
  const table = await createTables(cluster, "messages");
  const body = kafkaBody(kafka, "orders", table.name, into(table));
  const feed: Feed = {
    table,
    pipe: stack.use(new PipeRun(table.name, body, cluster.address)),
    sent: 0,
    async grow() {
      await tool.send(orders("orders", feed.sent, feed.sent + messagesPerRound, 3));
      feed.sent += messagesPerRound;
    },
  };
  return feed;
}

async function kinesisFeed(cluster: TestCluster, stack: AsyncDisposableStack): Promise<Feed> {
  const kinesis = stack.use(await startKinesalite());
  await kinesis.createStream("events", 3);
  const table = await createTables(cluster, "records");
  const body = kinesisPipe(kinesis, "events", { table: table.name, ...into(table) });
  const feed: Feed = {
    table,
    pipe: stack.use(new PipeRun(table.name, body, cluster.address)),
    sent: 0,
    async grow() {
      await kinesis.put("events", events(feed.sent, feed.sent + messagesPerRound));
      feed.sent += messagesPerRound;
    },
  };
  return feed;
}

async function postgresFeed(cluster: TestCluster, stack: AsyncDisposableStack): Promise<Feed> {
  const source = stack.use(await startLedger(cluster));
  const define = (sql: string) => source.define(sql);
  const pipe = stack.use(new PipeRun("changes", source.body(), cluster.address, define));
  const feed: Feed = {
    table: source.table,
    pipe,
    sent: source.rows,
    async grow(next) {
      await source.change(next);
      feed.sent = source.rows;
    },
    compareRest: () => source.untilEqual(() => JSON.stringify(pipe.status)),
  };
  return feed;
}

function into({ name }: ClusterTable) {
  return { destination: { database: clusterDatabase, table: name } };
}
