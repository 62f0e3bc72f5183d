/** Where backups are stored and restored from: buckets, encryption, lost metadata. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CreateBucketCommand, DeleteObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backUp, ended, filesBelow, folderOf, restored, verify } from "../../../harness/backups.ts";
import { startFauxqs, startVersitygw, type Vault, vaultKeys } from "../../../harness/objects/vaults.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { ClickHouseClient } from "../../../src/clickhouse/client.ts";
import { spawnEngineHost } from "../../../src/engine/spawn.ts";

const key = randomBytes(32).toString("base64");

async function fill(service: BenchService): Promise<void> {
  await query(service, "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
  await query(service, "INSERT INTO t SELECT number, concat('secret-content-', toString(number)) FROM numbers(200000)");
}

const sums = "SELECT count(), sum(sipHash64(a, s)) FROM t";

const missing = versitygwMissing;
if (missing !== undefined) console.log(`skipped: backups in versitygw: ${missing}`);

describe.each([
  ["fauxqs, encrypted", startFauxqs, { MILLRACE_BACKUP_ENCRYPTION_KEY: key }],
  // The real server where there is one.
  missing === undefined ? ["versitygw, plain", startVersitygw, {}] : ["fauxqs, plain", startFauxqs, {}],
] as const)("a bucket of %s", (_, start, encryption) => {
  let vault: Vault;
  let s3: S3Client;
  let served: Served;
  let service: BenchService;
  const bucket = "vault";

  beforeAll(async () => {
    vault = await start();
    const { endpoint } = vault;
    s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials: vaultKeys });
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    served = await serve({
      env: {
        MILLRACE_BACKUP_BUCKET: `s3://${bucket}/in/here`,
        MILLRACE_BACKUP_BUCKET_ENDPOINT: endpoint,
        MILLRACE_BACKUP_ACCESS_KEY_ID: vaultKeys.accessKeyId,
        MILLRACE_BACKUP_SECRET_ACCESS_KEY: vaultKeys.secretAccessKey,
        MILLRACE_BACKUP_IAM_ROLE_ARN: "arn:aws:iam::1:role/backup",
        MILLRACE_BACKUP_IAM_ROLE_SESSION_NAME: "millrace",
        ...encryption,
      },
    });
    service = await runningService(served, { idleScaling: false });
    await fill(service);
    // Above the limit of one request: uploaded in parts.
    await query(service, "INSERT INTO t SELECT number, randomPrintableASCII(120) FROM numbers(200000, 150000)");
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    s3.destroy();
    await vault[Symbol.asyncDispose]();
  });

  const keys = async (prefix: string) => {
    const page = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
    return (page.Contents ?? []).map((object) => ({ key: object.Key as string, size: object.Size as number }));
  };

  test("backups and increments go there, say so in their record, and come back", async () => {
    const full = await backUp(served, service);
    await query(service, "INSERT INTO t SELECT 9999999, 'more'");
    const next = await backUp(served, service);
    expect(full.error).toBeUndefined();
    expect(next).toMatchObject({ status: "done", type: "incremental", verification: "passed" });
    expect(next.bucket).toEqual({
      bucketPath: `s3://${bucket}/in/here/services/${service.id}/${next.backupName}`,
      iamRoleArn: "arn:aws:iam::1:role/backup",
      iamRoleSessionName: "millrace",
    });
    const stored = await keys(`in/here/services/${service.id}/${next.backupName}/`);
    expect(stored.reduce((sum, object) => sum + object.size, 0)).toBe(next.sizeInBytes);
    const copy = await restored(served, next.id);
    expect(await query(copy, sums)).toBe(await query(service, sums));
    expect((await verify(served, service, next.id, true)).verification).toBe("passed");
  });

  test("an object that is missing is found and named", async () => {
    const backup = await backUp(served, service);
    const stored = await keys(`in/here/services/${service.id}/${backup.backupName}/files/`);
    const largest = stored.toSorted((a, b) => b.size - a.size)[0] as { key: string };
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: largest.key }));
    const checked = await verify(served, service, backup.id, false);
    expect(checked.problems).toEqual([`${largest.key.slice("in/here/".length)} is missing`]);
  });

  test("the metadata lies there too", async () => {
    await until("a metadata backup", async () =>
      (await keys("in/here/metadata/")).some((object) => object.key.endsWith("manifest.json")),
    );
  });
});

describe("a bucket that cannot be reached", () => {
  test("the backup fails with a reason, the service goes on, and nothing is left on the disk", async () => {
    await using served = await serve({
      env: {
        MILLRACE_BACKUP_BUCKET: "s3://nowhere",
        MILLRACE_BACKUP_BUCKET_ENDPOINT: "http://127.0.0.1:1",
        MILLRACE_BACKUP_ACCESS_KEY_ID: "id",
        MILLRACE_BACKUP_SECRET_ACCESS_KEY: "key",
      },
    });
    const service = await runningService(served, { idleScaling: false });
    await fill(service);
    const backup = await backUp(served, service);
    expect(backup).toMatchObject({ status: "error", error: expect.stringMatching(/ECONNREFUSED/) });
    expect(await query(service, "SELECT count() FROM t")).toBe("200000");
    expect(filesBelow(join(served.dataDir, "backup-staging"))).toEqual([]);
    await expect(restored(served, backup.id)).rejects.toThrow(/cannot be restored: it failed/);
  });
});

describe("encrypted backups in a directory", () => {
  test("show neither content nor names, and open only with the key", async () => {
    await using served = await serve({ env: { MILLRACE_BACKUP_ENCRYPTION_KEY: key } });
    const service = await runningService(served, { idleScaling: false });
    await query(service, "CREATE TABLE whisper (a String) ENGINE = MergeTree ORDER BY a");
    await query(service, "INSERT INTO whisper SELECT 'do-not-tell'");
    const backup = await backUp(served, service);
    const files = filesBelow(folderOf(served, backup));
    expect(files.some((path) => path.includes("whisper"))).toBe(false);
    for (const path of files) expect(readFileSync(path).includes("whisper")).toBe(false);
    for (const path of files) expect(readFileSync(path).includes("do-not-tell")).toBe(false);
    const copy = await restored(served, backup.id);
    expect(await query(copy, "SELECT a FROM whisper")).toBe("do-not-tell");
    // Another installation without the key finds it and cannot use it. Its users learn nothing about it.
    const backups = join(served.dataDir, "backups");
    await using other = await serve({ env: { MILLRACE_BACKUP_DIR: backups } });
    const { organizationId } = other.credentials;
    const found = await other.api.rescanBackups({ params: { organizationId } });
    expect(found).toEqual({ adopted: 0, removed: 0, unreadable: [] });
    await other.stop();
    const told = command("adopt-backups", other.dataDir, backups, ["--organization", organizationId]);
    expect(told).toMatch(/^Added 0 backups\.\nUnreadable: .*is encrypted, and no backup/);
    const [largest] = files;
    const bytes = readFileSync(largest as string);
    writeFileSync(
      largest as string,
      Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) as number) ^ 1])]),
    );
    expect((await verify(served, service, backup.id, false)).verification).toBe("failed");
  });
});

describe("a plain full backup in a directory", () => {
  test("is the engine's own format: it can be restored without Millrace", async () => {
    await using served = await serve();
    const service = await runningService(served, { idleScaling: false });
    await fill(service);
    const backup = await backUp(served, service);
    const dir = mkdtempSync(join(tmpdir(), "millrace-bare-"));
    const files = join(folderOf(served, backup), "files");
    const host = await spawnEngineHost({
      ...{ dataDir: join(dir, "data"), runDir: join(dir, "run") },
      ...{ maxMemoryBytes: 2 ** 30, backupsAllowedPath: files },
    });
    const client = new ClickHouseClient(host.address);
    await client.command(`RESTORE ALL FROM File('${files}')`);
    expect((await client.text(sums)).trim()).toBe(await query(service, sums));
    client.close();
    await host.stop(5_000);
    rmSync(dir, { recursive: true });
  });
});

describe("when the metadata is lost", () => {
  test("a new installation finds the backups of the location, checks them, and restores them", async () => {
    await using old = await serve();
    const service = await runningService(old, { idleScaling: false });
    await fill(service);
    await backUp(old, service);
    await query(service, "INSERT INTO t SELECT 1, 'later'");
    const next = await backUp(old, service);
    const answer = await query(service, sums);
    const elsewhere = mkdtempSync(join(tmpdir(), "millrace-moved-"));
    cpSync(join(old.dataDir, "backups"), elsewhere, { recursive: true });
    const env = { MILLRACE_BACKUP_DIR: elsewhere };
    const first = await serve({ env, keepData: true });
    const params = { organizationId: first.credentials.organizationId };
    const adopting = ["--organization", params.organizationId];
    // The API gives nobody the backups of another organization.
    expect(await first.api.rescanBackups({ params })).toMatchObject({ adopted: 0, unreadable: [] });
    expect(await first.api.listAllBackups({ params })).toEqual([]);
    expect(() => command("adopt-backups", first.dataDir, elsewhere, adopting)).toThrow(
      /already uses this data directory/,
    );
    await first.stop();
    expect(() => command("adopt-backups", first.dataDir, elsewhere, ["--organization", "x"])).toThrow(/does not exist/);
    expect(command("adopt-backups", first.dataDir, elsewhere, adopting)).toMatch(/^Added 2 backups/);
    await using fresh = await serve({ env, dataDir: first.dataDir });
    expect(await fresh.api.rescanBackups({ params })).toMatchObject({ adopted: 0 });
    const found = await fresh.api.listAllBackups({ params });
    expect(found.map((backup) => backup.id)).toContain(next.id);
    const moved = { ...service, params: { ...params, serviceId: service.id } };
    const record = await ended(fresh, moved, next.id);
    const { sizeInBytes, backupName, startedAt, finishedAt, type, serviceId } = next;
    expect(record).toMatchObject({ sizeInBytes, backupName, startedAt, finishedAt, type, serviceId });
    const copy = await restored(fresh, next.id);
    expect(await query(copy, sums)).toBe(answer);
    rmSync(elsewhere, { recursive: true });
  });

  test.each([
    ["with the key at hand", {}, true],
    ["encrypted, the key in the backup", { MILLRACE_BACKUP_ENCRYPTION_KEY: key }, false],
  ])("one command brings everything back, %s", async (_, env, copyKey) => {
    const vault = mkdtempSync(join(tmpdir(), "millrace-vault-"));
    const served = await serve({ env: { ...env, MILLRACE_BACKUP_DIR: vault } });
    const service = await runningService(served, { idleScaling: false });
    const empty = await runningService(served, { idleScaling: false });
    await fill(service);
    await backUp(served, service);
    await until("the metadata follows", async () => filesBelow(join(vault, "metadata"), /manifest\.json$/).length >= 2);
    await query(service, "INSERT INTO t SELECT 1, 'after the metadata'");
    await backUp(served, service);
    const answer = await query(service, sums);
    const secret = readFileSync(join(served.dataDir, "secret.key"));
    await served[Symbol.asyncDispose]();
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-again-"));
    if (copyKey) writeFileSync(join(dataDir, "secret.key"), secret, { mode: 0o600 });
    const restoring = () => command("restore-metadata", dataDir, vault, [], env);
    expect(() => command("restore-metadata", dataDir, dataDir, [], env)).toThrow(/name the one with --backup-dir/);
    const told = restoring();
    expect(existsSync(join(dataDir, "millrace.db"))).toBe(true);
    expect(told).toMatch(new RegExp(`${service.id}\\) will be restored from`));
    expect(told).toMatch(new RegExp(`${empty.id}\\) has no usable backup: it starts empty`));
    expect(readFileSync(join(dataDir, "secret.key")).equals(secret)).toBe(true);
    await using again = await serve({ dataDir, env: { ...env, MILLRACE_BACKUP_DIR: vault } });
    expect(again.credentials.organizationId).toBe(served.credentials.organizationId);
    const state = async () => (await again.api.getService({ params: service.params })).state;
    await until("the service runs", async () => (await state()) === "running");
    // The same endpoint, the same password, the newest rows.
    expect(await query(service, sums)).toBe(answer);
    expect(restoring).toThrow(/choose an empty directory/);
    rmSync(vault, { recursive: true });
  });
});

/** Runs an operator's command; throws with its output when it fails. */
function command(
  name: string,
  dataDir: string,
  vault: string,
  more: string[],
  env: Record<string, string> = {},
): string {
  const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
  const args = [main, name, "--data-dir", dataDir, "--backup-dir", vault, ...more];
  const run = spawnSync(process.execPath, args, { encoding: "utf8", env: { ...process.env, ...env } });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
}
