/**
 * A Kinesis pipe, from the stream into the table, against a bare GetRecords loop of the AWS SDK over the same shards of
 * the same stand-in; and the age of records when they reach the table, at a steady rate.
 */
import { setTimeout as delay } from "node:timers/promises";
import { GetRecordsCommand, GetShardIteratorCommand } from "@aws-sdk/client-kinesis";
import { clientFor, startKinesalite, type TestKinesis } from "../harness/kinesis/kinesis.ts";
import { events, kinesisPipe } from "../harness/kinesis/pipes.ts";
import { createPipe, details } from "../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import { type BenchResult, type Cost, costOf, costRow, cpuUsOf, leastCost, round } from "./bench.ts";

export const description = "records/s of a pipe against a bare GetRecords loop, and lag at a steady rate";

const records = Number(process.env.RECORDS ?? 200_000);
const shards = 8;
const rounds = 3;
const steadyRate = 1_000;
const steadySeconds = 15;
const waitMs = 500;

type Bench = { readonly kinesis: TestKinesis; readonly served: Served; readonly service: BenchService };

export async function run(): Promise<BenchResult> {
  await using kinesis = await startKinesalite();
  await using served = await serve();
  const bench = { kinesis, served, service: await runningService(served, { idleScaling: false }) };
  await kinesis.createStream("bulk", shards);
  const producers = Array.from({ length: 4 }, (_, i) => [(records / 4) * i, (records / 4) * (i + 1)] as const);
  await Promise.all(producers.map(([from, to]) => kinesis.put("bulk", events(from, to))));
  const bare: Cost[] = [];
  const pipe: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await costOf(() => bareLoop(kinesis), { without: served.process.pid }));
    pipe.push(await timePipe(bench, `bulk_${round}`));
  }
  const lag = await steadyLag(bench);
  const ratio = leastCost(bare).seconds / leastCost(pipe).seconds;
  return {
    rows: [
      costRow("bare GetRecords loop, with the stand-in of the stream", bare, records),
      costRow("pipe, into the table", pipe, records),
      { what: `lag at ${steadyRate}/s, wait ${waitMs} ms`, medianMs: lag.p50, p99Ms: lag.p99 },
    ],
    summary: {
      ...{ ratio: round(ratio, 3), records, shards, lagP50Ms: lag.p50, lagP99Ms: lag.p99 },
      cpuUs: cpuUsOf(pipe, records),
    },
  };
}

/** What a shard of AWS allows all its readers together; it throttles whoever asks for more. */
const shardLimits = { callGapMs: 200, bytesPerMs: 2_000 };

/** Reads every record of every shard, all shards concurrently, and none faster than AWS allows. */
async function bareLoop(kinesis: TestKinesis): Promise<void> {
  const client = clientFor(kinesis.endpoint);
  const open = await kinesis.openShards("bulk");
  const counts = await Promise.all(
    open.map(async ({ ShardId }) => {
      const first = new GetShardIteratorCommand({ StreamName: "bulk", ShardId, ShardIteratorType: "TRIM_HORIZON" });
      let { ShardIterator } = await client.send(first);
      for (let count = 0; ; ) {
        const asked = performance.now();
        const page = await client.send(new GetRecordsCommand({ ShardIterator, Limit: 10_000 }));
        if (page.Records?.length === 0) return count;
        count += page.Records?.length ?? 0;
        ShardIterator = page.NextShardIterator;
        const bytes = (page.Records ?? []).reduce((sum, { Data }) => sum + (Data?.length ?? 0), 0);
        const gapMs = Math.max(shardLimits.callGapMs, bytes / shardLimits.bytesPerMs);
        await delay(Math.max(0, gapMs - (performance.now() - asked)));
      }
    }),
  );
  client.destroy();
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total !== records) throw new Error(`the bare loop read ${total} of ${records}`);
}

/** From the response to `create` until every record is in the table, including the worker's start. */
async function timePipe({ kinesis, served, service }: Bench, table: string): Promise<Cost> {
  const body = { settings: { streaming_max_insert_wait_ms: waitMs } };
  const pipeId = await createPipe(served, service, kinesisPipe(kinesis, "bulk", { table, body }));
  const sent = async () => Number((await details(served, service, pipeId)).progress.sentRows ?? 0);
  const loaded = () => until("everything is loaded", async () => (await sent()) >= records, 300_000);
  const cost = await costOf(loaded, { pid: served.process.pid });
  const seen = await query(service, `SELECT count(), uniqExact(id) FROM ${table}`);
  if (seen !== `${records}\t${records}`) throw new Error(`${table} has ${seen} instead of ${records}`);
  await served.api.deletePipe({ params: { ...service.params, pipeId } });
  await query(service, `DROP TABLE ${table} SYNC`);
  return cost;
}

/** Milliseconds between a record's arrival in the stream and its row's insert. */
async function steadyLag({ kinesis, served, service }: Bench): Promise<{ p50: number; p99: number }> {
  await kinesis.createStream("steady", 2);
  await query(
    service,
    "CREATE TABLE steady (id UInt64, arrival DateTime64(3, 'UTC'), loaded DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = MergeTree ORDER BY id",
  );
  const columns = [
    { name: "id", type: "UInt64" },
    { name: "arrival", type: "DateTime64(3, 'UTC')" },
  ];
  const fieldMappings = [
    { sourceField: "id", destinationField: "id" },
    { sourceField: "_approximate_arrival", destinationField: "arrival" },
  ];
  const pipeId = await createPipe(
    served,
    service,
    kinesisPipe(kinesis, "steady", {
      destination: { managedTable: false, tableDefinition: null, columns },
      body: { fieldMappings, settings: { streaming_max_insert_wait_ms: waitMs } },
    }),
  );
  const perTick = steadyRate / 10;
  const started = Date.now();
  for (let tick = 0; tick < steadySeconds * 10; tick += 1) {
    await kinesis.put("steady", events(tick * perTick, (tick + 1) * perTick));
    await delay(Math.max(0, started + (tick + 1) * 100 - Date.now()));
  }
  const total = steadySeconds * steadyRate;
  await until("all are there", async () => Number(await query(service, "SELECT count() FROM steady")) >= total);
  // The first seconds include the worker's start.
  const lag = "quantilesExact(0.5, 0.99)(dateDiff('millisecond', arrival, loaded))";
  const found = JSON.parse(await query(service, `SELECT ${lag} FROM steady WHERE id >= ${3 * steadyRate}`)) as number[];
  await served.api.deletePipe({ params: { ...service.params, pipeId } });
  return { p50: found[0] as number, p99: found[1] as number };
}
