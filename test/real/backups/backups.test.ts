/** Backups end to end: the real program and real engines. */
import { existsSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Backup, backUp, filesBelow, flipBit, folderOf, restored, verify } from "../../../harness/backups.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let full: Backup;
let increment: Backup;

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_BACKUP_CHAIN_LENGTH: "2" } });
  service = await runningService(served, { idleScaling: false });
  await query(service, "CREATE DATABASE `odd name/é`");
  await query(service, "CREATE TABLE `odd name/é`.`t.x` (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
  await query(
    service,
    "INSERT INTO `odd name/é`.`t.x` SELECT number, toString(sipHash64(number)) FROM numbers(300000)",
  );
  await query(service, "CREATE TABLE plain (a UInt64) ENGINE = MergeTree ORDER BY a");
  await query(
    service,
    "CREATE MATERIALIZED VIEW sums ENGINE = SummingMergeTree ORDER BY k AS SELECT a % 7 AS k, count() AS c FROM plain GROUP BY k",
  );
  await query(service, "CREATE TABLE latest (k UInt64, v UInt64) ENGINE = ReplacingMergeTree ORDER BY k");
  for (let i = 0; i < 3; i += 1) await query(service, `INSERT INTO latest SELECT number, ${i} FROM numbers(100)`);
  await query(service, "INSERT INTO plain SELECT number FROM numbers(1000)");
  await query(service, "CREATE TABLE memory (a UInt64) ENGINE = Memory");
  await query(service, "INSERT INTO memory SELECT number FROM numbers(10)");
  await query(service, "CREATE TABLE log (a UInt64) ENGINE = Log");
  await query(service, "INSERT INTO log SELECT number FROM numbers(100000)");
  await query(service, "CREATE FUNCTION twice AS (x) -> x * 2");
  await query(service, "CREATE VIEW doubled AS SELECT twice(a) AS d FROM plain");
  full = await backUp(served, service);
  await query(service, "INSERT INTO plain SELECT number FROM numbers(1000, 500)");
  // A file that grows: the increment stores its new end.
  await query(service, "INSERT INTO log SELECT number FROM numbers(100000, 50)");
  increment = await backUp(served, service);
});
afterAll(() => served[Symbol.asyncDispose]());

const totals = "SELECT (SELECT count() FROM plain), (SELECT sum(c) FROM sums), (SELECT count() FROM latest FINAL)";
const sums = "SELECT count(), sum(sipHash64(a, s)) FROM `odd name/é`.`t.x`";

describe("a backup", () => {
  test("the first is full, the next one an increment that stores what changed; both are checked", () => {
    expect(full).toMatchObject({
      status: "done",
      type: "full",
      verification: "passed",
      encrypted: false,
      problems: [],
    });
    expect(increment).toMatchObject({
      status: "done",
      type: "incremental",
      baseBackupId: full.id,
      verification: "passed",
    });
    expect(full.sizeInBytes).toBeGreaterThan(2_000_000);
    expect(increment.sizeInBytes).toBeLessThan(full.sizeInBytes / 10);
    expect(increment.restoresBytes).toBeGreaterThan(full.sizeInBytes / 2);
  });

  test("sizeInBytes is what is stored", () => {
    for (const backup of [full, increment]) {
      const files = filesBelow(folderOf(served, backup));
      expect(backup.sizeInBytes).toBe(files.reduce((sum, path) => sum + statSync(path).size, 0));
    }
  });

  test("the list holds the contract's members and the documented additions, newest first, and no bucket", async () => {
    const list = await served.api.listBackups({ params: service.params });
    expect(list.map((backup) => backup.id).slice(-2)).toEqual([increment.id, full.id]);
    const contract = ["backupName", "durationInSeconds", "finishedAt", "id", "serviceId", "sizeInBytes", "startedAt"];
    const additions = ["status", "type", "verification"];
    for (const backup of list) expect(Object.keys(backup).sort()).toEqual([...contract, ...additions].sort());
  });

  test("a chain that is full is followed by a new full backup", async () => {
    expect(await backUp(served, service)).toMatchObject({ type: "full", status: "done" });
  });

  test("nothing is left in the staging folders", () => {
    const staging = join(served.dataDir, "backups", ".staging", service.id);
    expect(existsSync(staging) ? readdirSync(staging) : []).toEqual([]);
  });

  test("BACKUP and RESTORE are not for the service's users", async () => {
    await expect(query(service, "BACKUP ALL TO File('/tmp/x')")).rejects.toThrow(/not available|ACCESS_DENIED/);
    await expect(query(service, "RESTORE ALL FROM File('/tmp/x')")).rejects.toThrow(/not available|ACCESS_DENIED/);
  });
});

describe("restoring", () => {
  test("a new service gets the data of an increment and its base: tables, views, functions, odd names", async () => {
    const copy = await restored(served, increment.id);
    expect(await query(copy, totals)).toBe(await query(service, totals));
    expect(await query(copy, sums)).toBe(await query(service, sums));
    expect(await query(copy, "SELECT count() FROM memory")).toBe("10");
    expect(await query(copy, "SELECT count(), sum(a) FROM log")).toBe(
      await query(service, "SELECT count(), sum(a) FROM log"),
    );
    expect(await query(copy, "SELECT max(d) FROM doubled")).toBe("2998");
    // It still works: inserts reach its own view.
    await query(copy, "INSERT INTO plain SELECT 1");
    expect(await query(copy, "SELECT sum(c) FROM sums")).toBe("1501");
  });

  test("the full backup is of its own moment", async () => {
    const copy = await restored(served, full.id);
    expect(await query(copy, "SELECT count() FROM plain")).toBe("1000");
  });

  const restore = async (body: object) => {
    const params = { ...service.params, backupId: increment.id };
    const { id } = await served.api.restoreBackup({ params, body: body as never });
    const get = () => served.api.getRestore({ params: { ...service.params, restoreId: id } });
    await until("the restore has ended", async () => ["done", "error"].includes((await get()).status));
    return await get();
  };

  test("one database under another name", async () => {
    expect(await restore({ database: "odd name/é", targetDatabase: "copy" })).toMatchObject({ status: "done" });
    expect(await query(service, "SELECT count() FROM copy.`t.x`")).toBe("300000");
  });

  test("the default database, whose views then read the copy", async () => {
    expect(await restore({ database: "default", targetDatabase: "copy_default" })).toMatchObject({ status: "done" });
    await query(service, "INSERT INTO copy_default.plain SELECT 5000");
    expect(await query(service, "SELECT max(d) FROM copy_default.doubled")).toBe("10000");
    expect(await query(service, "SELECT max(d) FROM doubled")).toBe("2998");
  });

  test("one table under another name", async () => {
    const done = await restore({ database: "default", table: "plain", targetDatabase: "other", targetTable: "p2" });
    expect(done).toMatchObject({ status: "done", scope: "table" });
    expect(done.progress.totalBytes).toBeGreaterThan(increment.sizeInBytes);
    expect(done.progress.doneBytes).toBe(done.progress.totalBytes);
    expect(await query(service, "SELECT count() FROM other.p2")).toBe("1500");
  });

  test.each([
    ["a database that exists", { database: "default", targetDatabase: "default" }, /already exists/],
    ["a table that exists", { database: "default", table: "plain", targetDatabase: "default" }, /already exists/],
    [
      "a table that the backup does not hold",
      { database: "default", table: "no", targetDatabase: "x" },
      /holds no table/,
    ],
  ])("%s is refused and left alone", async (_, body, reason) => {
    await expect(restore(body)).rejects.toThrow(reason);
    expect(await query(service, "SELECT count() FROM plain")).toBe("1500");
  });
});

describe("a damaged backup", () => {
  /** A service with a backup of its own to damage. */
  async function victim(): Promise<{ of: BenchService; backup: Backup; data: string }> {
    const of = await runningService(served, { idleScaling: false });
    await query(of, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
    await query(of, "INSERT INTO t SELECT number, toString(sipHash64(number)) FROM numbers(100000)");
    const backup = await backUp(served, of);
    // The trial restore after the first backup would find the damage as well, with another message.
    const params = { ...of.params, backupId: backup.id };
    const tried = async () => (await served.api.getBackup({ params })).deepVerifiedAt !== undefined;
    await until("the trial restore is over", tried);
    const [data] = filesBelow(folderOf(served, backup), /data\.bin$/);
    return { of, backup, data: data as string };
  }

  test.each([
    ["a flipped bit", flipBit, /data\.bin has other bytes/],
    ["a truncated file", (path: string) => truncateSync(path, 100), /data\.bin has 100 bytes instead of/],
    ["a missing file", (path: string) => rmSync(path), /data\.bin is missing/],
  ])("%s is found and named, shows in the metric, and is not restored unless forced", async (_, damage, finding) => {
    const { of, backup, data } = await victim();
    damage(data);
    const checked = await verify(served, of, backup.id, false);
    expect(checked.verification).toBe("failed");
    expect(checked.problems.join()).toMatch(finding);
    const metrics = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
    expect(metrics).toMatch(new RegExp(`Backup_Verification_Failed\\{[^}]*service="${of.id}"[^}]*\\} 1`));
    await expect(restored(served, backup.id)).rejects.toThrow(/verification failed.*data\.bin/);
    if (damage !== flipBit) return;
    const forced = await restored(served, backup.id, { force: true });
    expect(await query(forced, "SELECT count() FROM t")).toBe("100000");
  });

  test("damage after the check is found while restoring: the new service fails with the file's name", async () => {
    const { backup, data } = await victim();
    flipBit(data);
    await expect(restored(served, backup.id)).rejects.toThrow(/data\.bin has other bytes/);
  });

  test("a damaged base takes its increments down, and the next backup is full", async () => {
    const { of, backup, data } = await victim();
    await query(of, "INSERT INTO t SELECT 1, 'x'");
    const next = await backUp(served, of);
    expect(next.type).toBe("incremental");
    flipBit(data);
    await verify(served, of, backup.id, false);
    const params = { ...of.params, backupId: next.id };
    expect(await served.api.getBackup({ params })).toMatchObject({
      verification: "failed",
      problems: [expect.stringContaining(`it needs ${backup.backupName}, which is damaged`)],
    });
    expect(await backUp(served, of)).toMatchObject({ type: "full", verification: "passed" });
  });

  test("rows that the engine stored damaged before the backup are found by the deep check alone", async () => {
    const of = await runningService(served, { idleScaling: false });
    await query(of, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
    await query(of, "INSERT INTO t SELECT number, toString(sipHash64(number)) FROM numbers(100000)");
    const [part] = filesBelow(join(served.dataDir, "services", of.id, "data"), /all_1_1_0\/data\.bin$/);
    flipBit(part as string);
    const backup = await backUp(served, of);
    expect(backup.verification).toBe("passed");
    const checked = await verify(served, of, backup.id, true);
    expect(checked.verification).toBe("failed");
    expect(checked.problems.join()).toMatch(/default\.t|CHECK TABLE|hecksum/);
  });

  test("the deep check of a whole backup passes", async () => {
    const checked = await verify(served, service, increment.id, true);
    expect(checked).toMatchObject({ verification: "passed", problems: [] });
    expect(checked.deepVerifiedAt).toBe(checked.verifiedAt);
  });
});
