/**
 * Pipes of all four kinds into a replicated cluster of two shards with two replicas each, while replicas, shards,
 * Keeper and workers are killed at random moments. In the end every row is there exactly once, on every replica, in the
 * tables and behind materialized views. A table that forgets tokens after a second shows that the check can fail: its
 * rows double. `SEED` repeats a run, `SECONDS` bounds its faults (default 90).
 */
import { setTimeout as delay } from "node:timers/promises";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { clusterMissing, TestCluster } from "../harness/clickhouse/cluster.ts";
import { type Faults, injectFault, restore, settled } from "../harness/clickhouse/cluster-faults.ts";
import { requireSources, startFeeds } from "../harness/clickhouse/cluster-feeds.ts";
import { doublesWithoutWindow } from "../harness/clickhouse/forgotten-token.ts";
import { requireTool } from "../harness/missing.ts";
import { random } from "../harness/random.ts";

export const description =
  "pipes of all kinds into a replicated 2x2 cluster stay exactly-once under kills of replicas, shards and Keeper";

const seconds = numberOf("SECONDS", 90);
const seed = seedOf();

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds}`);
  requireTool(clusterMissing());
  requireSources();
  await using cluster = await TestCluster.start();
  const doubled = await doublesWithoutWindow(cluster);
  console.log(
    `a batch repeated after a window of a second: ${doubled.short}; with the window of pipes: ${doubled.long}`,
  );
  await using stack = new AsyncDisposableStack();
  const feeds = await startFeeds(cluster, stack);
  const pipes = feeds.map(({ pipe }) => pipe);
  for (const pipe of pipes) pipe.start();
  const next = random(seed);
  const faults: Faults = { replica: 0, shard: 0, keeper: 0, worker: 0 };
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline) {
    for (const feed of feeds) await feed.grow(next);
    await delay(next() * 1_500);
    await injectFault(cluster, pipes, next, faults);
  }
  await restore(cluster);
  let rows = 0;
  for (const { table, pipe, sent, compareRest } of feeds) {
    await settled(cluster, table, sent, pipe, seed);
    rows += sent;
    if (compareRest !== undefined) console.log(`accounts equal their source: ${await compareRest()}`);
  }
  return { rows, seed, ...faults, doubledWithShortWindow: doubled.short };
}
