/** How the cost of batches, listings, charts and backups grows. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { backUp } from "../harness/backups.ts";
import { startEngine } from "../harness/engine/chart-engine.ts";
import { anyNetwork } from "../harness/network/network.ts";
import { query, runningService, serve } from "../harness/serve.ts";
import { parseUrl } from "../src/sources/object-storage/stores/location.ts";
import { S3Store } from "../src/sources/object-storage/stores/s3.ts";
import { costOf, median } from "./bench.ts";
import { batchRates } from "./store-batches.ts";

/** The cost of a unit of work, by how much of it there was. `more` is shown beside it. */
export type Growth = {
  /** The name in the machine line, before `Growth`. */
  readonly name: string;
  readonly unit: string;
  readonly costs: readonly { readonly work: number; readonly cost: number; readonly more?: Record<string, number> }[];
};

/** Measures one size after the other; none is begun after the deadline, nor one that would last too long. */
export async function measuredGrowth(
  { name, unit }: Pick<Growth, "name" | "unit">,
  sizes: readonly number[],
  deadline: number,
  measure: (work: number) => Promise<Omit<Growth["costs"][0], "work">>,
): Promise<Growth> {
  const costs: Growth["costs"][0][] = [];
  for (let [at, lasted] = [0, 0]; at < sizes.length; at += 1) {
    const work = sizes[at] as number;
    const expected = at === 0 ? 0 : (lasted * work) / (sizes[at - 1] as number);
    if (performance.now() + expected > deadline) break;
    const begun = performance.now();
    costs.push({ work, ...(await measure(work)) });
    lasted = performance.now() - begun;
  }
  return { name, unit, costs };
}

export async function batchesOfPipes(): Promise<Growth> {
  const widths = [1, 10, 100, 1_000];
  const rates = await batchRates(widths, 3);
  const costs = rates.map(({ cpuUs, perSecond }, at) => ({
    work: widths[at] as number,
    cost: cpuUs,
    more: { perSecond },
  }));
  return { name: "batch", unit: "CPU us of a batch, with so many pipes", costs };
}

/** The real listing code against a server that makes up the keys, in a process of its own. */
export async function listingOfObjects(deadline: number): Promise<Growth> {
  const server = fork(fileURLToPath(new URL("./listing-server.ts", import.meta.url)));
  const [port] = (await once(server, "message")) as [number];
  const { signal } = new AbortController();
  const list = async (objects: number) => {
    const url = `http://127.0.0.1:${port}/bucket/${objects}/*`;
    const store = new S3Store(parseUrl(url), { url, isContinuous: false, format: "JSONEachRow" }, anyNetwork);
    const cpu = process.cpuUsage();
    for (let [seen, after] = [0, undefined as string | undefined]; seen < objects; ) {
      const page = await store.list(`${objects}/`, after, signal);
      seen += page.files.length;
      after = page.last;
      if (page.more !== seen < objects) throw new Error(`${seen} of ${objects} keys`);
    }
    const { user, system } = process.cpuUsage(cpu);
    return { cost: (user + system) / objects };
  };
  const what = { name: "listing", unit: "CPU us of an object" };
  try {
    return await measuredGrowth(what, [1_000, 10_000, 100_000, 1_000_000, 10_000_000], deadline, list);
  } finally {
    server.disconnect();
  }
}

export async function chartOfRows(deadline: number): Promise<Growth> {
  await using engine = await startEngine();
  const { client } = engine;
  await client.command("CREATE TABLE logs (at DateTime, level LowCardinality(String), ms UInt32) ORDER BY at");
  let loaded = 0;
  return await measuredGrowth({ name: "chart", unit: "ns of a row" }, [1e6, 1e7, 1e8], deadline, async (rows) => {
    await client.command(
      `INSERT INTO logs SELECT number % 86400, ['info', 'warn', 'error'][1 + number % 3], cityHash64(number) % 10000
       FROM numbers_mt(${loaded}, ${rows - loaded})`,
    );
    loaded = rows;
    await client.command("OPTIMIZE TABLE logs FINAL");
    const seconds: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      // The statement of a chart with three series.
      const series = "count(), avgIf(ms, level = 'error'), quantileIf(0.95)(ms, level = 'warn')";
      const sql = `SELECT toStartOfInterval(at, INTERVAL 30 MINUTE) AS t, ${series} FROM logs GROUP BY t ORDER BY t`;
      seconds.push((await costOf(() => client.text(`${sql} FORMAT JSONCompact`))).seconds);
    }
    return { cost: (median(seconds) / rows) * 1e9, more: { seconds: Number(median(seconds).toFixed(3)) } };
  });
}

export async function backupOfParts(deadline: number): Promise<Growth> {
  await using served = await serve({ env: { MILLRACE_BACKUP_CHAIN_LENGTH: "1", MILLRACE_BACKUP_CHECK_HOURS: "0" } });
  const service = await runningService(served, { idleScaling: false });
  const settings = "SETTINGS max_partitions_per_insert_block = 0, throw_on_max_partitions_per_insert_block = 0";
  await query(
    service,
    "CREATE TABLE t (id UInt32) ENGINE = MergeTree PARTITION BY id ORDER BY id SETTINGS max_parts_in_total = 1000000",
  );
  await query(service, "SYSTEM STOP MERGES t");
  let made = 0;
  return await measuredGrowth({ name: "backup", unit: "ms of a part" }, [1e3, 1e4, 1e5], deadline, async (parts) => {
    for (; made < parts; made += 1_000) {
      await query(service, `INSERT INTO t ${settings} SELECT number FROM numbers(${made}, 1000)`);
    }
    const { seconds, cpuSeconds } = await costOf(() => backUp(served, service), { pid: served.process.pid });
    return { cost: (seconds * 1_000) / parts, more: { cpuMs: Number(((cpuSeconds * 1_000) / parts).toFixed(3)) } };
  });
}
