/** Backups of services in Kubernetes: their pods write them into the bucket, and restore from it. */
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Backup, backUp, restored, verify } from "../../../harness/backups.ts";
import { backupThreadsMissing } from "../../../harness/clickhouse/backup-threads.ts";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { TestCluster, testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { FakeOperator } from "../../../harness/kubernetes/operator.ts";
import { startFauxqs as startPipeStore } from "../../../harness/objects/pipe-stores.ts";
import { startFauxqs, startVersitygw, vaultKeys } from "../../../harness/objects/vaults.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { createPipe, pipeBody, rows } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = kubernetesMissing() ?? backupThreadsMissing();
const bucket = "vault";
/** A backup hour of one second, so that a schedule of six hours is due soon. */
const hourMs = "1000";

describe.skipIf(missing !== undefined)("backups of a service in Kubernetes", () => {
  const peers = new AsyncDisposableStack();
  let cluster: TestCluster;
  let served: Served;
  let service: BenchService;
  let withoutKeys: Record<string, string>;

  beforeAll(async () => {
    const [started, vault] = await Promise.all([
      TestCluster.start(),
      versitygwMissing === undefined ? startVersitygw() : startFauxqs(),
    ]);
    cluster = peers.use(started);
    const { endpoint } = peers.use(vault);
    peers.use(new FakeOperator(cluster, { hasBackups: true }));
    const s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials: vaultKeys });
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    s3.destroy();
    withoutKeys = {
      MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
      MILLRACE_KUBERNETES_CONFIG: cluster.configFile("admin"),
      MILLRACE_IDLE_MINUTE_MS: "500",
      MILLRACE_BACKUP_HOUR_MS: hourMs,
      MILLRACE_BACKUP_BUCKET: `s3://${bucket}/in/here`,
      MILLRACE_BACKUP_BUCKET_ENDPOINT: endpoint,
      MILLRACE_BACKUP_ACCESS_KEY_ID: vaultKeys.accessKeyId,
      MILLRACE_BACKUP_SECRET_ACCESS_KEY: vaultKeys.secretAccessKey,
    };
    const keys = {
      MILLRACE_EXTERNAL_BACKUP_ACCESS_KEY_ID: vaultKeys.accessKeyId,
      MILLRACE_EXTERNAL_BACKUP_SECRET_ACCESS_KEY: vaultKeys.secretAccessKey,
    };
    served = await serve({ env: { ...withoutKeys, ...keys } });
    service = await runningService(served, { runtime: "kubernetes" });
    const kept = { backupRetentionPeriodInHours: 1080 };
    await served.api.updateBackupConfiguration({ params: service.params, body: kept });
    await query(service, "CREATE DATABASE app");
    await query(service, "CREATE TABLE app.t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
    await query(service, "INSERT INTO app.t SELECT number, randomPrintableASCII(100) FROM numbers(20000)");
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const sums = (table: string) => `SELECT count(), sum(sipHash64(*)) FROM ${table}`;
  const state = async () => (await served.api.getService({ params: service.params })).state;
  const command = (name: "start" | "stop") =>
    served.api.updateServiceState({ params: service.params, body: { command: name } });
  const restoreInto = async (into: BenchService, backup: Backup, body: object) => {
    const params = { ...service.params, backupId: backup.id };
    const { id } = await served.api.restoreBackup({ params, body: { targetServiceId: into.id, ...body } as never });
    const get = () => served.api.getRestore({ params: { ...into.params, restoreId: id } });
    await until("the restore has ended", async () => ["done", "error"].includes((await get()).status));
    return await get();
  };

  test("made while a pipe inserts, one restores into an engine here, whose pipe ends with the rows of the source", async () => {
    await using store = await startPipeStore();
    const files = 40;
    const put = (file: number) =>
      store.put(`in/${String(file).padStart(3, "0")}.json`, rows(file * 200, (file + 1) * 200));
    for (let file = 0; file < 10; file += 1) await put(file);
    const settings = { object_storage_polling_interval_ms: 100, object_storage_max_file_count: 1 };
    const source = { isContinuous: true };
    await createPipe(served, service, pipeBody(store, "in/*.json", "flow", { body: { settings }, source }));
    const count = (of: BenchService) => query(of, "SELECT count(), uniqExact(id) FROM flow").catch(String);
    await until("rows arrive", async () => /^[1-9]\d*\t/.test(await count(service)));
    const feeding = (async () => {
      for (let file = 10; file < files; file += 1) await put(file);
    })();
    const backup = await backUp(served, service);
    const between = await count(service);
    await feeding;
    expect(backup).toMatchObject({ status: "done", verification: "passed", type: "full" });
    const all = `${files * 200}\t${files * 200}`;
    await until("the original has everything", async () => (await count(service)) === all);
    // The load continued after the backup: otherwise this test would prove nothing.
    expect(between).not.toBe(all);
    const copy = await restored(served, backup.id, { restorePipes: "running", maxReplicaMemoryGb: 1 });
    await until("the copy has everything", async () => (await count(copy)) === all);
    expect(await query(copy, sums("flow"))).toBe(await query(service, sums("flow")));
    expect(await query(copy, sums("app.t"))).toBe(await query(service, sums("app.t")));
    await served.api.updateServiceState({ params: copy.params, body: { command: "stop" } });
    const ofCopy = async () => (await served.api.getService({ params: copy.params })).state;
    await until("the copy is stopped", async () => (await ofCopy()) === "stopped");
    await served.api.deleteService({ params: copy.params });
  });

  test("are restored by the pod under another name, and verified by a trial restore", async () => {
    const [backup] = (await served.api.listBackups({ params: service.params })) as Backup[];
    const renamed = { database: "app", table: "t", targetDatabase: "app", targetTable: "t_before" };
    expect(await restoreInto(service, backup as Backup, renamed)).toMatchObject({ status: "done" });
    expect(await query(service, sums("app.t_before"))).toBe(await query(service, sums("app.t")));
    await expect(restoreInto(service, backup as Backup, renamed)).rejects.toThrow(/already exists/);
    expect((await verify(served, service, (backup as Backup).id, true)).deepVerifiedAt).toBeDefined();
  });

  test("are made on a schedule only when one is set; it wakes an idle service, and starts no stopped one", async () => {
    const { params } = service;
    const made = async () => (await served.api.listBackups({ params })).length;
    const before = await made();
    await served.api.updateServiceScaling({ params, body: { idleScaling: true, idleTimeoutMinutes: 5 } });
    // Idling takes longer than the daily schedule of an embedded service would with these hours.
    await until("it is idle", async () => (await state()) === "idle");
    expect(await made()).toBe(before);
    await served.api.updateBackupConfiguration({ params, body: { backupPeriodInHours: 6 } });
    await until("a backup is made", async () => (await made()) > before);
    await served.api.updateServiceScaling({ params, body: { idleScaling: false } });
    await command("stop");
    await until("it is stopped", async () => (await state()) === "stopped");
    await expect(served.api.createBackup({ params })).rejects.toThrow(/is stopped.*start it first/);
    const backups = await served.api.listBackups({ params });
    const latest = Math.max(...backups.map(({ startedAt }) => Date.parse(startedAt)));
    await until("the next one is overdue", async () => Date.now() > latest + 8 * Number(hourMs));
    expect(await made()).toBe(backups.length);
    await served.api.updateBackupConfiguration({ params, body: { backupPeriodInHours: null } });
    expect(await state()).toBe("stopped");
  });

  test("what is missing is refused at the request", async () => {
    await command("start");
    await until("it runs", async () => (await state()) === "running");
    await served.stop();
    const { MILLRACE_BACKUP_BUCKET: _, ...withoutBucket } = withoutKeys;
    for (const [env, refusal] of [
      [withoutKeys, /The pods have no keys for the backup bucket.*--external-backup-access-key-id/],
      [withoutBucket, /does not reach .* on this machine\. Start Millrace with --backup-bucket/],
    ] as const) {
      await using other = await serve({ env, dataDir: served.dataDir, keepData: true });
      await until("it runs", async () => (await other.api.getService({ params: service.params })).state === "running");
      await until("it is refused", async () => {
        const failure = await other.api.createBackup({ params: service.params }).then(
          () => undefined,
          (error: Error) => error.message,
        );
        return failure !== undefined && refusal.test(failure);
      });
    }
  });
});
