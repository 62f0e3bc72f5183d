/**
 * Two servers and three workers on one Postgres database, with pipes of all kinds into an external server. Servers and
 * workers are killed, or suspended for longer than their leases, and Postgres crashes, at random moments. In the end
 * every row is there exactly once, no fence has had two holders (the database itself records them), and one of the
 * servers has answered at any time. `SEED` repeats a run, `SECONDS` bounds its faults (default 120).
 */
import { setTimeout as delay } from "node:timers/promises";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { externalServiceOn } from "../harness/clickhouse/external-service.ts";
import { TestServer } from "../harness/clickhouse/server.ts";
import { kafkaMissing } from "../harness/kafka/kafka.ts";
import { kinesisMissing } from "../harness/kinesis/kinesis.ts";
import { requireTool } from "../harness/missing.ts";
import { ApiWatch } from "../harness/planes/api-watch.ts";
import { type PlanesFeed, planesDatabase, startPlanesFeeds } from "../harness/planes/feeds.ts";
import { Installation } from "../harness/planes/installation.ts";
import { LeaseHistory } from "../harness/postgres/lease-history.ts";
import { postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { random } from "../harness/random.ts";
import { type BenchService, type Served, until } from "../harness/serve.ts";
import { databaseUrl } from "../harness/stores.ts";

export const description =
  "two servers and three workers on one database stay exactly-once under kills and suspensions";

const seconds = numberOf("SECONDS", 120);
const seed = seedOf();
const settleMs = 300_000;

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds}`);
  for (const reason of [kafkaMissing, kinesisMissing("kinesalite"), postgresMissing(18)]) requireTool(reason);
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await TestPostgres.start({ version: 18 }));
  const database = await databaseUrl(postgres, "planes");
  const history = await LeaseHistory.on(database);
  const clickhouse = stack.use(await TestServer.start());
  const feeds = await startPlanesFeeds(clickhouse, stack);
  const installation = stack.use(await Installation.start(postgres, database));
  const service = await externalServiceOn(installation.servers[0] as Served, clickhouse, planesDatabase);
  for (const { body } of feeds) {
    await (installation.servers[0] as Served).api.createPipe({ params: service.params, body });
  }
  const watch = stack.use(new ApiWatch(installation));
  const next = random(seed);
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline) {
    for (const feed of feeds) await feed.grow(next);
    await delay(next() * 3_000);
    await installation.strike(next);
  }
  await installation.settle();
  for (const feed of feeds) await untilEqual(feed, installation, service);
  const shared = await history.sharedFences();
  if (shared.length > 0) throw new Error(`fences with two holders: ${JSON.stringify(shared)}`);
  if (watch.unanswered > 0)
    throw new Error(`${watch.unanswered} of ${watch.asked} requests were answered by no server`);
  const holders = (await history.holders("pipe")).length;
  const api = { asked: watch.asked, answerP50: watch.quantile(0.5), answerP99: watch.quantile(0.99) };
  return { seed, pipes: feeds.length, holders, ...installation.faults, ...api };
}

/** Every row of the source is in the destination, once. */
async function untilEqual(feed: PlanesFeed, { servers }: Installation, { params }: BenchService): Promise<void> {
  let seen = "";
  const isEqual = async () => {
    const { expected, found } = await feed.compare();
    seen = `expected ${expected}, found ${found}`;
    return expected === found;
  };
  await until(`${feed.name} is equal to its source`, isEqual, settleMs).catch(async (error: Error) => {
    const pipes = await (servers[0] as Served).api.listPipes({ params });
    const states = pipes.map(({ name, state }) => `${name}: ${state}`);
    throw new Error([error.message, seen, ...states].join("; "));
  });
}
