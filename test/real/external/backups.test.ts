/** Backups of external services: their server writes them into the bucket, and restores from it. */
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Backup, backUp, restored, verify } from "../../../harness/backups.ts";
import { backupThreadsMissing } from "../../../harness/clickhouse/backup-threads.ts";
import { pipeRights } from "../../../harness/clickhouse/external-service.ts";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { startFauxqs as startPipeStore, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { startFauxqs, startVersitygw, vaultKeys } from "../../../harness/objects/vaults.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { createPipe, pipeBody, rows } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { restoreGrant } from "../../../src/backups/server/requirements.ts";

const missing = backupThreadsMissing();
if (missing !== undefined) console.log(`skipped: backups of external services: ${missing}`);

const bucket = "vault";
/** With the rights of docs/external.md; the keys come with each statement. */
const keeper = {
  name: "keeper",
  password: "k",
  grants: [...pipeRights, "BACKUP ON app.*", restoreGrant("app"), restoreGrant("copy")],
};
/** With a named collection, whose keys are the server's own. */
const collector = {
  name: "collector",
  password: "c",
  grants: [...pipeRights, "BACKUP ON app.*", "SHOW NAMED COLLECTIONS, NAMED COLLECTION ON millrace_backups"],
};
const unprivileged = { name: "unprivileged", password: "u", grants: pipeRights };

let peers: AsyncDisposableStack;
let server: TestServer;
let served: Served;
let s3: S3Client;
let service: BenchService;
let store: TestStore;

const connectionOf = ({ name: username, password }: { name: string; password: string }) => ({
  urls: [server.url],
  username,
  password,
  database: "app",
});
const externalService = (user: { name: string; password: string }, of = served) =>
  runningService(of, { name: user.name, runtime: "external", connection: connectionOf(user) });

async function prepare(): Promise<void> {
  peers = new AsyncDisposableStack();
  const vault = peers.use(await (versitygwMissing === undefined ? startVersitygw() : startFauxqs()));
  const { endpoint } = vault;
  s3 = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials: vaultKeys });
  peers.defer(() => s3.destroy());
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const { accessKeyId, secretAccessKey } = vaultKeys;
  const collection = `<named_collections><millrace_backups><url>${endpoint}/${bucket}/in/here</url>
    <access_key_id>${accessKeyId}</access_key_id><secret_access_key>${secretAccessKey}</secret_access_key>
    </millrace_backups></named_collections>`;
  const users = [serverUser, keeper, collector, unprivileged];
  server = peers.use(await TestServer.start({ hasBackups: true, users, configuration: [collection] }));
  served = peers.use(await serve({ env: backupSettings(endpoint) }));
  store = peers.use(await startPipeStore());
  await server.client.command("CREATE DATABASE app");
  service = await externalService(keeper);
}

function backupSettings(endpoint: string) {
  return {
    MILLRACE_BACKUP_BUCKET: `s3://${bucket}/in/here`,
    MILLRACE_BACKUP_BUCKET_ENDPOINT: endpoint,
    MILLRACE_BACKUP_ACCESS_KEY_ID: vaultKeys.accessKeyId,
    MILLRACE_BACKUP_SECRET_ACCESS_KEY: vaultKeys.secretAccessKey,
    MILLRACE_EXTERNAL_BACKUP_ACCESS_KEY_ID: vaultKeys.accessKeyId,
    MILLRACE_EXTERNAL_BACKUP_SECRET_ACCESS_KEY: vaultKeys.secretAccessKey,
  };
}

const sums = (table: string) => `SELECT count(), sum(sipHash64(*)) FROM ${table}`;
const restoreOf = async (backup: Backup, into: BenchService, body: object) => {
  const params = { ...service.params, backupId: backup.id };
  const { id } = await served.api.restoreBackup({ params, body: { targetServiceId: into.id, ...body } as never });
  const get = () => served.api.getRestore({ params: { ...into.params, restoreId: id } });
  await until("the restore has ended", async () => ["done", "error"].includes((await get()).status));
  return await get();
};

describe.skipIf(missing !== undefined)("backups of an external service", () => {
  beforeAll(prepare);
  afterAll(async () => {
    await peers?.disposeAsync();
  });

  test("made while a pipe inserts, one restores to a service whose pipe ends with exactly the rows of the source", async () => {
    const files = 60;
    const put = (file: number) =>
      store.put(`in/${String(file).padStart(3, "0")}.json`, rows(file * 200, (file + 1) * 200));
    for (let file = 0; file < 10; file += 1) await put(file);
    const settings = { object_storage_polling_interval_ms: 100, object_storage_max_file_count: 1 };
    await createPipe(
      served,
      service,
      pipeBody(store, "in/*.json", "flow", { body: { settings }, source: { isContinuous: true } }),
    );
    const count = async (of: BenchService) =>
      await query(of, "SELECT count(), uniqExact(id) FROM app.flow").catch(String);
    await until("rows arrive", async () => Number.parseInt(await count(service), 10) > 0);
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
    const copy = await restored(served, backup.id, { restorePipes: "running" });
    const total = async () => Number.parseInt(await count(copy), 10);
    await until("the copy has everything", async () => (await total()) >= files * 200);
    expect(await query(copy, sums("app.flow"))).toBe(await query(service, sums("app.flow")));
    await served.api.updateServiceState({ params: copy.params, body: { command: "stop" } });
  });

  test("are restored by the server under another name, in the service itself and in another one", async () => {
    await query(service, "CREATE TABLE app.t (a UInt64, s String) ENGINE = MergeTree ORDER BY a PARTITION BY a % 3");
    await query(service, "INSERT INTO app.t SELECT number, randomPrintableASCII(100) FROM numbers(50000)");
    const before = await query(service, sums("app.t"));
    const backup = await backUp(served, service);
    expect(backup).toMatchObject({ status: "done", verification: "passed" });
    await query(service, "TRUNCATE TABLE app.t");
    const table = { database: "app", table: "t", targetDatabase: "app", targetTable: "t_yesterday" };
    expect(await restoreOf(backup, service, table)).toMatchObject({ status: "done" });
    expect(await query(service, sums("app.t_yesterday"))).toBe(before);
    expect(await restoreOf(backup, service, { database: "app", targetDatabase: "copy" })).toMatchObject({
      status: "done",
    });
    expect(await server.client.text(sums("copy.t"))).toBe(`${before}\n`);
    await expect(restoreOf(backup, service, table)).rejects.toThrow(/already exists/);
    const embedded = await runningService(served, { name: "embedded" });
    expect(await restoreOf(backup, embedded, { database: "app", targetDatabase: "app" })).toMatchObject({
      status: "done",
    });
    expect(await query(embedded, sums("app.t"))).toBe(before);
    expect((await verify(served, service, backup.id, true)).deepVerifiedAt).toBeDefined();
    // The other way: the server reads what an engine here has written.
    const own = await backUp(served, embedded);
    const params = { ...embedded.params, backupId: own.id };
    await server.client.command("DROP DATABASE copy SYNC");
    const body = { database: "app", targetDatabase: "copy", targetServiceId: service.id };
    const { id } = await served.api.restoreBackup({ params, body });
    const got = () => served.api.getRestore({ params: { ...service.params, restoreId: id } });
    await until("the restore has ended", async () => (await got()).status === "done");
    expect(await server.client.text(sums("copy.t"))).toBe(`${before}\n`);
  });

  test("with a named collection no key is sent, and without one the key is in no log of the server", async () => {
    const own = await externalService(collector);
    expect(await backUp(served, own)).toMatchObject({ status: "done", verification: "passed" });
    await server.client.command("SYSTEM FLUSH LOGS");
    const statements = await server.client.rows<{ query: string; user: string }>(
      "SELECT query, user FROM system.query_log WHERE type = 'QueryStart' AND query_kind IN ('Backup', 'Restore')",
    );
    const of = (name: string) => statements.filter(({ user }) => user === name).map(({ query }) => query);
    expect(of("collector")).toEqual([expect.stringMatching(/TO S3\(millrace_backups, 'services\//)]);
    expect(of("keeper")).toHaveLength(5);
    for (const statement of of("keeper")) expect(statement).toMatch(/, '\[HIDDEN\]'\)/);
    const secret = vaultKeys.secretAccessKey;
    const everywhere = await server.client.text(
      `SELECT count() FROM system.query_log WHERE position(query || exception || toString(Settings), '${secret}') > 0 AND query NOT LIKE '%position(%'`,
    );
    expect(everywhere.trim()).toBe("0");
    expect(await server.client.text("SELECT * FROM system.backups")).not.toContain(secret);
  });

  test("what the server may not do is refused at the request, with the statement that helps", async () => {
    const small = await externalService(unprivileged);
    const refusal = /lacks rights; run: GRANT BACKUP ON `app`\.\* TO `unprivileged`/;
    await expect(served.api.createBackup({ params: small.params })).rejects.toThrow(refusal);
    const configuration = { params: small.params, body: { backupPeriodInHours: 24 } } as const;
    await expect(served.api.updateBackupConfiguration(configuration)).rejects.toThrow(refusal);
    expect(await served.api.listBackups({ params: small.params })).toEqual([]);
    const [backup] = await served.api.listBackups({ params: service.params });
    const into = restoreOf(backup as Backup, small, { database: "app", targetDatabase: "copy" });
    await expect(into).rejects.toThrow(/GRANT SHOW, SELECT, CREATE DATABASE, .* ON `copy`\.\* TO `unprivileged`/);
  });

  test("a damaged object is found and named, and the server restores nothing from it", async () => {
    const backup = await backUp(served, service);
    const prefix = `in/here/services/${service.id}/${backup.backupName}/files/`;
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
    const largest = Contents.toSorted((a, b) => (b.Size as number) - (a.Size as number))[0] as {
      Key: string;
      Size: number;
    };
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: largest.Key, Body: Buffer.alloc(largest.Size) }));
    const body = { database: "app", table: "t_yesterday", targetDatabase: "app", targetTable: "t_damaged" };
    const restore = await restoreOf(backup, service, body);
    expect(restore.error).toMatch(/damaged: .* has other bytes than were stored/);
    expect(await query(service, "EXISTS TABLE app.t_damaged")).toBe("0");
    expect((await verify(served, service, backup.id, false)).problems).toEqual([
      expect.stringContaining(largest.Key.slice("in/here/".length)),
    ]);
  });

  test("of replicated tables restore into an engine here, as tables without replicas", async () => {
    const backup = await backUp(served, service);
    const folder = `in/here/services/${service.id}/${backup.backupName}/files/`;
    // As the server of a cluster would have written it: the parts are the same.
    const Key = `${folder}metadata/app/t_yesterday.sql`;
    const replicated =
      "CREATE TABLE _ (`a` UInt64, `s` String) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}') PARTITION BY a % 3 ORDER BY a SETTINGS index_granularity = 8192";
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: replicated.replace("_", "app.t_yesterday") }));
    const copy = await restored(served, backup.id, { force: true, restorePipes: "none" });
    const engine = "SELECT engine FROM system.tables WHERE name = 't_yesterday'";
    expect(await query(copy, engine)).toBe("MergeTree");
    expect(await query(copy, sums("app.t_yesterday"))).toBe(await query(service, sums("app.t_yesterday")));
  });
});
