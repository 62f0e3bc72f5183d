/** The life of backups: schedules, retention, services that do not run, and kills during an operation. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backUp, ended, filesBelow, restored } from "../../../harness/backups.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const state = async (served: Served, service: BenchService) =>
  (await served.api.getService({ params: service.params })).state;
const list = (served: Served, service: BenchService) => served.api.listBackups({ params: service.params });
const folders = (served: Served, service: BenchService) => {
  const path = join(served.dataDir, "backups", "services", service.id);
  return existsSync(path) ? readdirSync(path) : [];
};

async function fill(service: BenchService, rows = 1000): Promise<void> {
  await query(service, "CREATE TABLE IF NOT EXISTS t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
  await query(service, `INSERT INTO t SELECT number, randomPrintableASCII(100) FROM numbers(${rows})`);
}

describe("the schedule", () => {
  // An hour of periods lasts 100 ms here: a period of 24 h is 2.4 s.
  test("makes chains by itself, and retention removes whole chains and nothing that is needed", async () => {
    await using served = await serve({ env: { MILLRACE_BACKUP_HOUR_MS: "100", MILLRACE_BACKUP_CHAIN_LENGTH: "2" } });
    const service = await runningService(served, { idleScaling: false });
    await fill(service);
    await served.api.updateBackupConfiguration({ params: service.params, body: { backupPeriodInHours: 6 } });
    const names = new Set<string>();
    const types = new Set<string>();
    await until("seven backups were made", async () => {
      const backups = await list(served, service);
      for (const backup of backups) {
        names.add(backup.backupName);
        if (backup.status === "done") types.add(backup.type);
      }
      // Every backup listed as done has its whole chain.
      const ids = new Set(backups.map((backup) => backup.id));
      for (const { id, type, status } of backups) {
        if (type !== "incremental" || status !== "done") continue;
        const details = await served.api
          .getBackup({ params: { ...service.params, backupId: id } })
          .catch(() => undefined);
        if (details !== undefined) expect(ids).toContain(details.baseBackupId);
      }
      return names.size >= 7;
    });
    expect(types).toEqual(new Set(["full", "incremental"]));
    await until("old ones were removed", async () => (await list(served, service)).length < names.size);
    const verdicts = await served.api.previewRetention({ params: service.params });
    expect(verdicts.find((verdict) => verdict.keep)?.reason).toMatch(/within the retention|newest|in progress/);
    await until("what is stored is what is listed", async () => {
      const listed = (await list(served, service)).map((backup) => backup.backupName);
      return folders(served, service).every((name) => listed.includes(name));
    });
  });
});

describe("services that do not run", () => {
  test("a stopped one is backed up without serving anybody, and stays stopped", async () => {
    await using served = await serve();
    const service = await runningService(served, { idleScaling: false });
    await fill(service);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("stopped", async () => (await state(served, service)) === "stopped");
    const backup = await backUp(served, service);
    expect(backup).toMatchObject({ status: "done", verification: "passed" });
    expect(await state(served, service)).toBe("stopped");
    await expect(query(service, "SELECT 1")).rejects.toThrow(/503/);
    // A start waits while the engine is borrowed.
    await served.api.createBackup({ params: service.params });
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await until("running", async () => (await state(served, service)) === "running");
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
    const copy = await restored(served, backup.id);
    expect(await query(copy, "SELECT count() FROM t")).toBe("1000");
  });

  test("an idle one is woken for its backup", async () => {
    await using served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "20", MILLRACE_BACKUP_CHECK_HOURS: "0" } });
    const service = await runningService(served, { idleTimeoutMinutes: 5 });
    await fill(service);
    await until("idle", async () => (await state(served, service)) === "idle");
    expect(await backUp(served, service)).toMatchObject({ status: "done", verification: "passed" });
    await until("idle again", async () => (await state(served, service)) === "idle");
  });

  test("backups outlive their service until the retention, and restore it", async () => {
    await using served = await serve();
    const service = await runningService(served, { idleScaling: false });
    await fill(service);
    const backup = await backUp(served, service);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("stopped", async () => (await state(served, service)) === "stopped");
    await served.api.deleteService({ params: service.params });
    await expect(served.api.getService({ params: service.params })).rejects.toMatchObject({ status: 404 });
    expect((await list(served, service)).map((row) => row.id)).toEqual([backup.id]);
    const copy = await restored(served, backup.id);
    expect(await query(copy, "SELECT count() FROM t")).toBe("1000");
  });
});

describe("kill -9 of the control plane", () => {
  test("during a backup: it ends as failed, leaves nothing, and the next one succeeds", async () => {
    let served = await serve();
    try {
      const service = await runningService(served, { idleScaling: false });
      await fill(service, 300_000);
      const { id } = await served.api.createBackup({ params: service.params });
      const staging = join(served.dataDir, "backups", ".staging", service.id);
      await until("the engine writes", async () => filesBelow(staging).length > 0);
      served = await served.restartAfterKill();
      const backup = await ended(served, service, id);
      // Fast machines may have finished already.
      if (backup.status === "error") {
        expect(backup.error).toMatch(/interrupted/);
        expect(folders(served, service)).not.toContain(backup.backupName);
      }
      expect(filesBelow(staging)).toEqual([]);
      const next = await backUp(served, service);
      expect(next).toMatchObject({ status: "done", verification: "passed" });
      const copy = await restored(served, next.id);
      expect(await query(copy, "SELECT count() FROM t")).toBe("300000");
    } finally {
      await served[Symbol.asyncDispose]();
    }
  });

  test("during a restore into a new service: it begins again and ends with every row once", async () => {
    let served = await serve();
    try {
      const service = await runningService(served, { idleScaling: false });
      await fill(service, 300_000);
      const backup = await backUp(served, service);
      const { organizationId } = served.credentials;
      const created = await served.api.createService({
        params: { organizationId },
        body: { name: "copy", backupId: backup.id },
      });
      const params = { organizationId, serviceId: created.service.id };
      await until("the restore runs", async () => (await served.api.listRestores({ params }))[0]?.status !== "queued");
      served = await served.restartAfterKill();
      await until("the copy runs", async () => (await served.api.getService({ params })).state === "running");
      const { host, port } = created.service.endpoints[0] as { host: string; port: number };
      const copy = { id: params.serviceId, params, host, port, password: created.password };
      expect(await query(copy, "SELECT count(), uniqExact(a) FROM t")).toBe("300000\t300000");
      expect((await served.api.listRestores({ params }))[0]).toMatchObject({ status: "done" });
    } finally {
      await served[Symbol.asyncDispose]();
    }
  });

  test("during a restore of a database into a running service: it is there whole, and nothing else", async () => {
    let served = await serve();
    try {
      const service = await runningService(served, { idleScaling: false });
      await fill(service, 300_000);
      const backup = await backUp(served, service);
      const body = { database: "default", targetDatabase: "copy" };
      const { id } = await served.api.restoreBackup({ params: { ...service.params, backupId: backup.id }, body });
      const get = () => served.api.getRestore({ params: { ...service.params, restoreId: id } });
      await until("the restore runs", async () => (await get()).status !== "queued");
      served = await served.restartAfterKill();
      await until("the restore is over", async () => ["done", "error"].includes((await get()).status));
      expect(await get()).toMatchObject({ status: "done" });
      expect(await query(service, "SELECT count() FROM copy.t")).toBe("300000");
      expect(await query(service, "SELECT groupArray(name) FROM system.databases WHERE name LIKE '%copy%'")).toBe(
        "['copy']",
      );
    } finally {
      await served[Symbol.asyncDispose]();
    }
  });
});

describe("a disk that is full", () => {
  test("the backup fails with the reason, frees what it took, and a smaller one succeeds", async (context) => {
    const mount = mkdtempSync(join(tmpdir(), "millrace-full-"));
    const mounted = tryMount(mount);
    if (mounted !== true) context.skip(`no small filesystem can be mounted here: ${mounted}`);
    try {
      await using served = await serve({ env: { MILLRACE_BACKUP_DIR: join(mount, "backups") } });
      const service = await runningService(served, { idleScaling: false });
      await fill(service, 200_000);
      const backup = await backUp(served, service);
      expect(backup).toMatchObject({
        status: "error",
        error: expect.stringMatching(/disk may be full|ENOSPC|No space left/),
      });
      expect(await query(service, "SELECT count() FROM t")).toBe("200000");
      // The engine removes the files that it could not write to their end.
      await expect.poll(() => filesBelow(join(mount, "backups"), /services|staging/)).toEqual([]);
      await query(service, "TRUNCATE TABLE t");
      await fill(service, 100);
      expect(await backUp(served, service)).toMatchObject({ status: "done", verification: "passed" });
    } finally {
      unmount(mount);
    }
  });
});

/** Mounts eight megabytes of memory; returns the reason when it cannot. */
function tryMount(path: string): true | string {
  const run = spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", path], { encoding: "utf8" });
  return run.status === 0 ? true : (run.error?.message ?? run.stderr).trim();
}

function unmount(path: string): void {
  spawnSync("umount", ["-l", path]);
  rmSync(path, { recursive: true, force: true });
}
