/**
 * Kinesis pipes under random kills while their streams are split and merged: worker, engine host and control plane are
 * killed with -9 at random moments, replicas change from one to three and back, records are plain and aggregated, and
 * in the end every record is there exactly once, in the tables and in a materialized view of them. One pipe polls
 * kinesalite, one uses enhanced fan-out of kinesis-local. `SEED` repeats a run, `SECONDS` bounds it (default 90).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PutRecordsRequestEntry } from "@aws-sdk/client-kinesis";
import { assertAccounted } from "../harness/accounting.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { kill, retried, revive } from "../harness/chaos.ts";
import { startKinesalite, startKinesisLocal, type TestKinesis } from "../harness/kinesis/kinesis.ts";
import { aggregated, events, kinesisPipe } from "../harness/kinesis/pipes.ts";
import { createPipe, details } from "../harness/pipes.ts";
import { random } from "../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";

export const description = "Kinesis pipes stay exactly-once under kill -9, resharding and changing replicas";

const seconds = numberOf("SECONDS", 90);
const seed = seedOf();
const maxShards = 6;

type Stream = {
  readonly name: string;
  readonly kinesis: TestKinesis;
  readonly most: number;
  pipe: string;
  count: number;
};
type Run = {
  served: Served;
  readonly service: BenchService;
  readonly next: () => number;
  readonly streams: readonly Stream[];
  engineKills: number[];
  readonly done: Record<string, number>;
};

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds}`);
  await using lite = await startKinesalite();
  await using local = await startKinesisLocal();
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: "error" } });
  const service = await runningService(served, { idleScaling: false });
  const streams = [
    { name: "polled", kinesis: lite, most: 4_000, pipe: "", count: 0 },
    { name: "pushed", kinesis: local, most: 300, pipe: "", count: 0 },
  ];
  const done = { worker: 0, engine: 0, control: 0, split: 0, merge: 0, scaled: 0 };
  const state: Run = { served, service, next: random(seed), streams, engineKills: [], done };
  try {
    for (const stream of streams) await begin(state, stream);
    await Promise.all([produce(state), injectFaults(state)]);
    await revive(state.served, service, pipesOf(state));
    let rows = 0;
    for (const stream of streams) rows += await verify(state, stream);
    return { rows, seed, ...done };
  } finally {
    await state.served[Symbol.asyncDispose]();
  }
}

async function begin({ served, service }: Run, stream: Stream): Promise<void> {
  const { name, kinesis } = stream;
  await kinesis.createStream(name, 2);
  const columns = "(id UInt64, name String) ENGINE = MergeTree PARTITION BY id % 3 ORDER BY id";
  await query(service, `CREATE TABLE ${name} ${columns}`);
  await query(service, `CREATE TABLE ${name}_sum (k UInt8, c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY k`);
  const select = `SELECT id % 7 AS k, count() AS c, sum(id) AS s FROM ${name} GROUP BY k`;
  await query(service, `CREATE MATERIALIZED VIEW ${name}_view TO ${name}_sum AS ${select}`);
  const body = kinesisPipe(kinesis, name, {
    source: { useEnhancedFanOut: name === "pushed" },
    destination: { managedTable: false, tableDefinition: null },
    body: { settings: { streaming_max_insert_wait_ms: 700 } },
  });
  stream.pipe = await createPipe(served, service, body);
}

const deadline = Date.now() + seconds * 1000;

/** Continuous records, and an occasional reshard. */
async function produce(state: Run): Promise<void> {
  const chance = random(seed + 1);
  await Promise.all(
    state.streams.map(async (stream) => {
      while (Date.now() < deadline) {
        const count = 1 + Math.floor(chance() * stream.most);
        const records = events(stream.count, stream.count + count);
        await stream.kinesis.put(stream.name, chance() < 0.4 ? bundled(records, chance) : records);
        stream.count += count;
        if (chance() < 0.2) await reshard(state, stream, chance);
        await delay(chance() * 500);
      }
    }),
  );
}

/** Some of the records as aggregated ones. */
function bundled(records: readonly PutRecordsRequestEntry[], chance: () => number): PutRecordsRequestEntry[] {
  const bundles: PutRecordsRequestEntry[] = [];
  for (let at = 0; at < records.length; ) {
    const part = records.slice(at, at + 1 + Math.floor(chance() * 200));
    bundles.push(aggregated(part.map(({ PartitionKey, Data }) => ({ key: PartitionKey ?? "", data: Data as Buffer }))));
    at += part.length;
  }
  return bundles;
}

async function reshard({ done }: Run, { name, kinesis }: Stream, chance: () => number): Promise<void> {
  const open = await kinesis.openShards(name);
  const at = Math.floor(chance() * open.length);
  const [shard, neighbour] = [open[at], open[at + 1]];
  if (shard === undefined) return;
  if (open.length < maxShards && (chance() < 0.6 || neighbour === undefined)) {
    await kinesis.split(name, shard);
    done.split = (done.split ?? 0) + 1;
  } else if (neighbour !== undefined) {
    await kinesis.merge(name, shard, neighbour);
    done.merge = (done.merge ?? 0) + 1;
  }
}

async function injectFaults(state: Run): Promise<void> {
  while (Date.now() < deadline) {
    await delay(500 + state.next() * 2_000);
    await retried(() => revive(state.served, state.service, pipesOf(state)));
    await injectFault(state);
  }
}

async function injectFault(state: Run): Promise<void> {
  const { served, service, streams, done } = state;
  const dice = state.next();
  const { pipe } = streams[Math.floor(state.next() * streams.length)] as Stream;
  // A service is given up when its engine dies six times in a row without a stable minute: stay below that.
  state.engineKills = state.engineKills.filter((at) => Date.now() - at < 70_000);
  if (dice < 0.4) {
    const file = state.next() < 0.5 ? `${pipe}.pid` : `${pipe}.${1 + Math.floor(state.next() * 2)}.pid`;
    if (kill(`${served.dataDir}/pipes/${file}`)) done.worker = (done.worker ?? 0) + 1;
  } else if (dice < 0.65 && state.engineKills.length < 4) {
    if (!kill(`${served.dataDir}/services/${service.id}/engine.pid`)) return;
    done.engine = (done.engine ?? 0) + 1;
    state.engineKills.push(Date.now());
  } else if (dice < 0.8) {
    state.served = await served.restartAfterKill();
    done.control = (done.control ?? 0) + 1;
  } else {
    const replicas = 1 + Math.floor(state.next() * 3);
    await served.api.updatePipeScaling({ params: { ...service.params, pipeId: pipe }, body: { replicas } });
    done.scaled = (done.scaled ?? 0) + 1;
  }
}

async function verify(state: Run, { name, pipe, count }: Stream): Promise<number> {
  const { service } = state;
  const look = () => query(service, `SELECT count(), uniqExact(id), sum(id) FROM ${name}`).catch(() => "");
  await until(`${name} is complete`, async () => Number((await look()).split("\t")[0]) >= count, 120_000).catch(
    async (error: Error) => {
      const { state: word, lastError } = await details(state.served, service, pipe);
      throw new Error(`${error.message}: ${await look()} of ${count}; ${word} ${lastError ?? ""} SEED=${seed}`);
    },
  );
  // Time for duplicates to arrive.
  await delay(2_000);
  const sum = (BigInt(count) * BigInt(count - 1)) / 2n;
  const rows = await look();
  const view = await query(service, `SELECT sum(c), sum(s) FROM ${name}_sum`);
  const errors = await query(service, `SELECT count() FROM ${name}_pipes_error`).catch(() => "0");
  console.log(`${name}: ${rows}, view ${view}, ${errors} errors; expected ${count}`);
  if (rows !== `${count}\t${count}\t${sum}` || view !== `${count}\t${sum}` || errors !== "0") {
    throw new Error(`${name}: ${rows}, view ${view}, errors ${errors}; expected ${count}, ${sum}. SEED=${seed}`);
  }
  await assertAccounted(state.served, service, pipe, { fetchedRows: count, sentRows: count });
  return count;
}

function pipesOf({ streams }: Run): string[] {
  return streams.map(({ pipe }) => pipe);
}
