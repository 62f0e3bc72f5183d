/**
 * Pipes into a replicated cluster of two shards with two replicas each, while replicas, shards, Keeper and workers are
 * killed at random moments. In the end every row is there exactly once, on every replica, in the tables and behind
 * materialized views. A table that forgets tokens after a second shows that the check can fail: its rows double.
 * `SEED` repeats a run, `SECONDS` bounds its faults (default 90).
 */
import { setTimeout as delay } from "node:timers/promises";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { clusterMissing, TestCluster } from "../harness/clickhouse/cluster.ts";
import { createTables, type Faults, injectFault, restore, settled } from "../harness/clickhouse/cluster-faults.ts";
import { doublesWithoutWindow } from "../harness/clickhouse/forgotten-token.ts";
import { PipeRun } from "../harness/clickhouse/pipe-run.ts";
import { kafkaMissing, startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, orders } from "../harness/kafka/pipes.ts";
import { requireTool } from "../harness/missing.ts";
import { startFauxqs } from "../harness/objects/pipe-stores.ts";
import { pipeBody, rows } from "../harness/pipes.ts";
import { random } from "../harness/random.ts";

export const description =
  "pipes into a replicated 2x2 cluster stay exactly-once under kills of replicas, shards and Keeper";

const seconds = numberOf("SECONDS", 90);
const seed = seedOf();

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds}`);
  requireTool(clusterMissing());
  requireTool(kafkaMissing);
  await using cluster = await TestCluster.start();
  const doubled = await doublesWithoutWindow(cluster);
  console.log(
    `a batch repeated after a window of a second: ${doubled.short}; with the window of pipes: ${doubled.long}`,
  );
  await using store = await startFauxqs();
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  await tool.topic("orders", 3);
  const tables = ["objects", "messages"] as const;
  for (const table of tables) await createTables(cluster, table);
  const small = { body: { settings: { object_storage_polling_interval_ms: 300, object_storage_max_file_count: 3 } } };
  await using objects = new PipeRun(
    "objects",
    pipeBody(store, "objects/*.json", "objects", { source: { isContinuous: true }, ...into("objects"), ...small }),
    cluster.address,
  );
  await using messages = new PipeRun(
    "messages",
    kafkaBody(kafka, "orders", "messages", into("messages")),
    cluster.address,
  );
  const pipes = { objects, messages };
  for (const pipe of Object.values(pipes)) pipe.start();
  const next = random(seed);
  const faults: Faults = { replica: 0, shard: 0, keeper: 0, worker: 0 };
  const sent = { objects: 0, messages: 0 };
  const deadline = Date.now() + seconds * 1000;
  for (let round = 0; Date.now() < deadline; round += 1) {
    const count = 500 + Math.floor(next() * 20_000);
    await store.put(`objects/${String(1000 + round)}.json`, rows(sent.objects, sent.objects + count));
    sent.objects += count;
    await tool.send(orders("orders", sent.messages, sent.messages + 3_000, 3));
    sent.messages += 3_000;
    await delay(next() * 1_500);
    await injectFault(cluster, Object.values(pipes), next, faults);
  }
  await restore(cluster);
  for (const table of tables) await settled(cluster, table, sent[table], pipes[table], seed);
  return { rows: sent.objects + sent.messages, seed, ...faults, doubledWithShortWindow: doubled.short };
}

function into(table: string) {
  return { destination: { database: "work", table } };
}
