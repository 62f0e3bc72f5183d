/**
 * Backups, restores and retention under kill -9 of the control plane and of engines at random moments. After every
 * kill: operations in progress end, every backup listed as done is whole and has its chain, and nothing else is stored.
 * At the end every remaining backup restores to the rows that the table had when it was made.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { backUp, filesBelow, folderOf, restored } from "../harness/backups.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { random } from "../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";

export const description = "kill -9 during backup, restore and retention; what is left is whole";

const rounds = numberOf("ROUNDS", 25);
const seed = seedOf();

/** The length of an hour of periods: backups are due every 6 s, and are kept for 8 s. */
const hourMs = 333;
const env = { MILLRACE_BACKUP_HOUR_MS: String(hourMs), MILLRACE_BACKUP_CHAIN_LENGTH: "3" };

/** Backups that a kill interrupted. */
const interrupted = new Set<string>();
const counts = { backups: 0, restores: 0, killedControl: 0, killedEngine: 0, olderRestored: 0 };

export async function run(): Promise<Record<string, string | number>> {
  console.log(`seed ${seed}, ${rounds} rounds`);
  const next = random(seed);
  let served = await serve({ env });
  try {
    const service = await runningService(served, { idleScaling: false });
    await query(service, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
    const body = { backupPeriodInHours: 16 };
    await served.api.updateBackupConfiguration({ params: service.params, body });
    for (let round = 0; round < rounds; round += 1) {
      await query(
        service,
        `INSERT INTO t SELECT number, randomPrintableASCII(60) FROM numbers(${round * 50_000}, 50000)`,
      );
      await begin(served, service, next);
      await delay(next() ** 2 * 400);
      served = await strike(served, service, next);
      await settled(served, service);
    }
    await finish(served, service);
    return { seed, rounds, ...counts, interrupted: interrupted.size };
  } finally {
    await served[Symbol.asyncDispose]();
  }
}

/** Requests an operation; a conflict with one in progress is a valid response. */
async function begin(served: Served, service: BenchService, next: () => number): Promise<void> {
  const { params } = service;
  const done = (await served.api.listBackups({ params })).find((backup) => backup.verification === "passed");
  if (done === undefined || next() < 0.5) {
    counts.backups += 1;
    await served.api.createBackup({ params }).catch(() => {});
    return;
  }
  counts.restores += 1;
  const targetDatabase = `r${Math.floor(next() * 1e9)}`;
  const request = { params: { ...params, backupId: done.id }, body: { database: "default", targetDatabase } };
  await served.api.restoreBackup(request).catch(() => {});
}

async function strike(served: Served, service: BenchService, next: () => number): Promise<Served> {
  if (next() < 0.3) {
    counts.killedEngine += 1;
    const file = join(served.dataDir, "services", service.id, "engine.pid");
    const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    return served;
  }
  counts.killedControl += 1;
  return await served.restartAfterKill();
}

async function settled(served: Served, service: BenchService): Promise<void> {
  const { params } = service;
  await until("the service answers", async () =>
    query(service, "SELECT 1").then(
      () => true,
      () => false,
    ),
  );
  await until("restores end", async () =>
    (await served.api.listRestores({ params })).every(({ status }) => status === "done" || status === "error"),
  );
  const allowed = [
    "default",
    ...(await served.api.listRestores({ params })).filter((r) => r.status === "done").map((r) => r.targetDatabase),
  ];
  const found = await query(
    service,
    "SELECT name FROM system.databases WHERE lower(name) NOT IN ('system', 'information_schema')",
  );
  const foreign = found.split("\n").filter((name) => !allowed.includes(name));
  if (foreign.length > 0) throw new Error(`half a restore is left: ${foreign.join(", ")}`);
  for (const name of allowed.slice(1)) await query(service, `DROP DATABASE IF EXISTS ${name}`);
  await until(
    "what is stored is what is listed",
    async () => (await consistent(served, service)) === undefined,
    30_000,
  ).catch(async () => {
    throw new Error((await consistent(served, service)) ?? "settled too late");
  });
}

/** The inconsistency, or undefined. Between two reads a backup may start or be removed: the caller checks again. */
async function consistent(served: Served, service: BenchService): Promise<string | undefined> {
  const listed = await served.api.listBackups({ params: service.params });
  if (
    listed.some(
      (backup) => backup.status === "in_progress" || (backup.verification === "pending" && backup.status === "done"),
    )
  ) {
    return "something is in progress";
  }
  const done = listed.filter((backup) => backup.status === "done");
  for (const backup of listed) if (backup.status === "error") interrupted.add(backup.id);
  const names = new Set(done.map((backup) => backup.backupName));
  const root = join(served.dataDir, "backups", "services", service.id);
  for (const name of existsSync(root) ? readdirSync(root) : []) if (!names.has(name)) return `${name} is garbage`;
  for (const backup of done) {
    if (backup.verification !== "passed") return `${backup.backupName} is ${backup.verification}`;
    if (!existsSync(join(folderOf(served, backup), "manifest.json"))) return `${backup.backupName} has no manifest`;
    const { baseBackupId } = await served.api.getBackup({ params: { ...service.params, backupId: backup.id } });
    if (baseBackupId !== undefined && !done.some(({ id }) => id === baseBackupId))
      return `${backup.backupName} lost its base`;
  }
  const staging = join(served.dataDir, "backups", ".staging", service.id);
  if (existsSync(staging) && filesBelow(staging).length > 0) return "the staging folder is not empty";
  return undefined;
}

async function finish(served: Served, service: BenchService): Promise<void> {
  const params = { ...service.params };
  // From now on no backup is removed.
  await served.api.updateBackupConfiguration({ params, body: { backupRetentionPeriodInHours: 1080 } });
  await until("nothing is in progress", async () => (await consistent(served, service)) === undefined);
  const last = await backUp(served, service);
  if (last.status !== "done" || last.verification !== "passed") throw new Error(`the last backup: ${last.error}`);
  const sums = "SELECT count(), uniqExact(a), sum(sipHash64(a, s)) FROM t";
  const copy = await restored(served, last.id);
  if ((await query(copy, sums)) !== (await query(service, sums))) throw new Error("the restored rows differ");
  const rows = Number((await query(service, "SELECT count() FROM t")).trim());
  for (const backup of await served.api.listBackups({ params })) {
    if (backup.status !== "done" || backup.id === last.id) continue;
    const older = await restored(served, backup.id);
    const [count, unique] = (await query(older, sums)).split("\t").map(Number) as [number, number];
    if (count !== unique || count > rows || count % 50_000 !== 0)
      throw new Error(`${backup.backupName}: ${count} rows`);
    counts.olderRestored += 1;
  }
}
