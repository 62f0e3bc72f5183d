/**
 * Batches per second of the store on SQLite and on Postgres: intent, confirmation and counters, with the fences. Then
 * how long pipes rest when their worker is killed or stopped, and how fast a server answers meanwhile.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { MissingTool } from "../harness/missing.ts";
import { newPipe, newService } from "../harness/new-pipe.ts";
import { postgresMissing, TestPostgres } from "../harness/postgres/postgres.ts";
import { databaseUrl } from "../harness/stores.ts";
import { leaseMs } from "../src/store/nodes.ts";
import { type LeasedStores, openStoresOf } from "../src/store/open.ts";
import { type BenchResult, round } from "./bench.ts";
import { measureTakeover } from "./planes-takeover.ts";

export const description =
  "confirmed batches per second of the metadata store, and takeover of pipes by another worker";

const seconds = 4;
const widths = [1, 8, 64] as const;
/**
 * Batches per second on Postgres with 64 pipes at a time; how long pipes rest when their process is stopped; and until
 * others have the pipes of one that was killed: the lease, and a look at the leases each second.
 */
const goals = { postgresPerSecond: 1_500, stoppedRestP95Ms: 1_000, killedP95Ms: leaseMs + 1_500 };
const counts = { fetchedRows: 10, fetchedBytes: 1_000, sentRows: 10, sentBytes: 1_000 };

export async function run(): Promise<BenchResult> {
  const missing = postgresMissing(18);
  if (missing !== undefined) throw new MissingTool(missing);
  // Durable on both sides.
  await using postgres = await TestPostgres.start({ version: 18, onDisk: true, settings: { fsync: "on" } });
  const sqlite = await measure(undefined);
  const onPostgres = await measure(await databaseUrl(postgres, "bench"));
  const rows = widths.map((width, i) => ({ "at a time": width, SQLite: sqlite[i] ?? 0, Postgres: onPostgres[i] ?? 0 }));
  const takeover = await measureTakeover(postgres);
  const [own, other] = [sqlite.at(-1) ?? 0, onPostgres.at(-1) ?? 0];
  const missed = [
    ...(other < goals.postgresPerSecond ? ["postgresPerSecond"] : []),
    ...(["stoppedRestP95Ms", "killedP95Ms"] as const).filter((name) => !(takeover[name] <= goals[name])),
  ];
  const measured = { ratio: other / own, sqlitePerSecond: own, postgresPerSecond: other, ...takeover };
  // On a machine that is busy with other things, all of them may be missed.
  return {
    rows,
    summary: { ok: missed.length === 0, missed: missed.join(" "), load: round(loadavg()[0] ?? 0), ...measured },
  };
}

/** Batches per second at each width. */
async function measure(database: string | undefined): Promise<number[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-planes-"));
  const secretKey = Buffer.alloc(32, 1).toString("base64");
  const stores = await openStoresOf({ dataDir, secretKey, database, role: "server" });
  const serviceId = await newService(stores);
  const pipeIds: string[] = [];
  for (let at = 0; at < Math.max(...widths); at += 1) pipeIds.push(await newPipe(stores, serviceId));
  await stores.leases.claim("pipe", pipeIds);
  const found: number[] = [];
  for (const width of widths) {
    await stores.renew();
    found.push(await rateOf(stores, pipeIds.slice(0, width)));
  }
  await stores.close();
  rmSync(dataDir, { recursive: true });
  return found;
}

async function rateOf({ ledger }: LeasedStores, pipeIds: readonly string[]): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let done = 0;
  const work = async (pipeId: string) => {
    for (let at = 0; performance.now() < end; at += 1) {
      const batchId = `${end}-${at}`;
      await ledger.begin(pipeId, { batchId, lane: "l", intent: { token: batchId } });
      await ledger.confirm(pipeId, { batchId, lane: "l", checkpoint: at, marks: {}, counts });
      done += 1;
    }
  };
  await Promise.all(pipeIds.map(work));
  return Math.round(done / seconds);
}
