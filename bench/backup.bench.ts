import { execFileSync, execSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type Backup, backUp, ended, restored } from "../harness/backups.ts";
import { query, runningService, serve, until } from "../harness/serve.ts";
import { type BenchResult, type Cost, costOf, leastCost, median, round } from "./bench.ts";

export const description =
  "full backup and restore MB/s, checks included, against `cp -r` of the data directory; increment against changed bytes";

const rounds = 3;
const rows = 4_000_000;
const changedRows = 200_000;

/** Each full backup replaces the previous one: a chain length of 1 makes them all full. */
export async function run(): Promise<BenchResult> {
  const full = await measureFull();
  const increment = await measureIncrement();
  const secondsOf = (samples: readonly Cost[]) => leastCost(samples).seconds;
  const row = (what: string, samples: readonly Cost[]) => ({
    what,
    "MB/s": round(full.megabytes / secondsOf(samples)),
    s: round(secondsOf(samples), 2),
    "all s": samples.map(({ seconds }) => round(seconds, 2)).join(" "),
    "CPU ms per MB": round((leastCost(samples).cpuSeconds * 1000) / full.megabytes, 2),
  });
  return {
    rows: [
      row("cp -r and sync", full.copies),
      row("the same, then SHA-256 of each file twice", full.leasts),
      row("backup: stored and every file read back", full.backups),
      row("restore into a new running service", full.restores),
      row("cp -r of the copy and back", full.copiesBack),
      row("a new running service without data", full.starts),
    ],
    summary: {
      ratio: round(secondsOf(full.copies) / secondsOf(full.backups)),
      ofLeast: round(secondsOf(full.leasts) / secondsOf(full.backups)),
      restoreRatio: round((secondsOf(full.starts) + secondsOf(full.copiesBack)) / secondsOf(full.restores)),
      restoreOfCp: round(secondsOf(full.copiesBack) / secondsOf(full.restores)),
      dataMb: round(full.megabytes),
      backupMbPerSecond: round(full.megabytes / secondsOf(full.backups)),
      restoreMbPerSecond: round(full.megabytes / secondsOf(full.restores)),
      storedSeconds: round(median(full.stores)),
      incrementPerChangedByte: increment,
    },
  };
}

async function measureFull() {
  const env = { MILLRACE_BACKUP_CHAIN_LENGTH: "1", MILLRACE_BACKUP_CHECK_HOURS: "0" };
  await using served = await serve({ env });
  const service = await runningService(served, { idleScaling: false });
  await load(service, 0, rows);
  await query(service, "OPTIMIZE TABLE t FINAL");
  // Parts that were merged away are copied by cp, but not by a backup.
  const outdated = "SELECT count() FROM system.parts WHERE NOT active AND table = 't'";
  await until("merged parts are gone", async () => (await query(service, outdated)) === "0", 120_000);
  const data = join(served.dataDir, "services", service.id, "data");
  const copy = join(served.dataDir, "copy");
  const back = join(served.dataDir, "back");
  const megabytes = Number(execFileSync("du", ["-sb", data], { encoding: "utf8" }).split("\t")[0]) / 1e6;
  const { pid } = served.process;
  const copies: Cost[] = [];
  const leasts: Cost[] = [];
  const copiesBack: Cost[] = [];
  const starts: Cost[] = [];
  const stores: number[] = [];
  const backups: Cost[] = [];
  const restores: Cost[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const copying = await copied(data, copy, pid);
    copies.push(copying);
    leasts.push(sumOf(copying, await costOf(() => hashedTwice(copy), { without: pid })));
    copiesBack.push(await copied(copy, back, pid));
    for (const path of [copy, back]) rmSync(path, { recursive: true });
    let backup: Backup | undefined;
    const backedUp = async () => {
      backup = await backUp(served, service);
    };
    backups.push(await costOf(backedUp, { pid }));
    stores.push(backup?.durationInSeconds ?? Number.NaN);
    restores.push(await costOf(() => restored(served, backup?.id as string), { pid }));
    starts.push(await costOf(() => runningService(served, { idleScaling: false }), { pid }));
  }
  return { megabytes, copies, leasts, copiesBack, starts, stores, backups, restores };
}

/** Bytes that an increment stores per byte of new parts. */
async function measureIncrement(): Promise<number> {
  await using served = await serve({ env: { MILLRACE_BACKUP_CHECK_HOURS: "0" } });
  const service = await runningService(served, { idleScaling: false });
  await load(service, 0, rows / 4);
  await backUp(served, service);
  const bytes = async () =>
    Number(await query(service, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 't'"));
  await query(service, "SYSTEM STOP MERGES t");
  const before = await bytes();
  await load(service, rows, changedRows);
  const changed = (await bytes()) - before;
  const { id } = await served.api.createBackup({ params: service.params });
  return round((await ended(served, service, id)).sizeInBytes / changed, 3);
}

async function load(service: Parameters<typeof query>[0], from: number, count: number): Promise<void> {
  await query(
    service,
    "CREATE TABLE IF NOT EXISTS t (id UInt64, at DateTime, name String, note String) ORDER BY id SETTINGS old_parts_lifetime = 1",
  );
  await query(
    service,
    `INSERT INTO t SELECT number, toDateTime(number), toString(sipHash64(number)), randomPrintableASCII(80)
     FROM numbers(${from}, ${count})`,
  );
}

/** Copies a folder and syncs it to the disk. The engine is running on it, and may remove files during the copy. */
async function copied(from: string, to: string, without: number | undefined): Promise<Cost> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const copy = () => execSync(`cp -r '${from}' '${to}' && sync -f '${to}'`, { stdio: "pipe" });
      return await costOf(copy, { without });
    } catch (error) {
      if (attempt === 10) throw error;
      rmSync(to, { recursive: true, force: true });
    }
  }
}

/** What a backup cannot do without: a checksum of what is stored, and another of what is read back. Two at a time. */
function hashedTwice(folder: string): void {
  const hash = `find '${folder}' -type f -print0 | xargs -0 -n 16 -P 2 openssl dgst -sha256`;
  execSync(`${hash} && ${hash}`, { stdio: ["ignore", "ignore", "pipe"] });
}

function sumOf(one: Cost, other: Cost): Cost {
  return { seconds: one.seconds + other.seconds, cpuSeconds: one.cpuSeconds + other.cpuSeconds };
}
