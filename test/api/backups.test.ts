/** Backups over HTTP, without engines: rows are set through the store. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backupFolder, encodeManifest, manifestName, manifestOf } from "../../src/backups/files/manifest.ts";
import type { Backup } from "../../src/store/backups/backups.ts";
import type { Service } from "../../src/store/services/services.ts";
import { type Api, basic, startApi } from "./harness.ts";

const services = "/v1/organizations/{o}/services";
const noId = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

let api: Api;
let serviceId: string;
let root: string;

beforeAll(async () => {
  api = await startApi();
  serviceId = await newService();
  root = `${services}/${serviceId}`;
});
afterAll(() => api[Symbol.asyncDispose]());

async function newService(): Promise<string> {
  const { body } = await api.call("POST", services, { body: { name: "s" } });
  await api.services.setState(body.result.service.id, "running", null);
  return body.result.service.id;
}

let minute = 0;
async function backup(of: string, change: Partial<Backup> = {}): Promise<string> {
  minute += 1;
  const startedAt = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return await api.backups.insert({
    ...{ organizationId: api.organizationId, serviceId: of, serviceName: "s", name: `n${minute}` },
    ...{ trigger: "schedule", status: "done", type: "full", baseId: null, encrypted: false, startedAt },
    ...{ location: { kind: "local", root: "/x" } as const, verification: "passed" },
    ...{ finishedAt: new Date(Date.UTC(2026, 0, 1, 0, minute, 5)).toISOString(), sizeBytes: 10 },
    ...change,
  });
}

/** A backup whose manifest holds the table a.t. */
async function stored(of: string): Promise<string> {
  const id = await backup(of, { location: { kind: "local", root: api.backupDir } });
  const row = (await api.backups.find(id)) as Backup;
  const contents = { functions: [], counts: {}, totalBytes: 1, files: [] };
  const tables = [{ database: "a", table: "t", rows: 1 }];
  const manifest = manifestOf(row, (await api.services.find(of)) as Service, { ...contents, tables });
  const folder = join(api.backupDir, backupFolder(of, row.name));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, manifestName), encodeManifest(manifest, undefined));
  return id;
}

describe("the list (A4)", () => {
  test("is empty for a service without backups, and 404 for one that does not exist", async () => {
    expect((await api.call("GET", `${root}/backups`)).body.result).toEqual([]);
    expect((await api.call("GET", `${services}/${noId}/backups`)).status).toBe(404);
  });

  test("shows newest first; finishedAt only when finished; duration that runs; a bucket only for buckets", async () => {
    const of = await newService();
    const first = await backup(of);
    const bucket = { kind: "s3", bucket: "b", prefix: "p/", region: "r" } as const;
    const second = await backup(of, { location: bucket, name: "n" });
    const startedAt = new Date(Date.now() - 90_000).toISOString();
    const running = await backup(of, { status: "in_progress", finishedAt: null, startedAt, verification: "pending" });
    await backup(of, { status: "deleting" });
    const { result } = (await api.call("GET", `${services}/${of}/backups`)).body;
    expect(result.map((row: { id: string }) => row.id)).toEqual([running, second, first]);
    expect(result[0]).not.toHaveProperty("finishedAt");
    expect(result[0].durationInSeconds).toBeGreaterThanOrEqual(90);
    expect(result[1].bucket).toEqual({
      bucketPath: `s3://b/p/services/${of}/n`,
      iamRoleArn: "",
      iamRoleSessionName: "",
    });
    expect(result[2]).toMatchObject({ durationInSeconds: 5, sizeInBytes: 10, status: "done", type: "full" });
    expect(result[2]).not.toHaveProperty("bucket");
  });

  test("of a deleted service stays as long as its backups", async () => {
    const of = await newService();
    await backup(of);
    await api.services.remove(of);
    expect((await api.call("GET", `${services}/${of}/backups`)).body.result).toHaveLength(1);
    const all = await api.call("GET", "/v1/organizations/{o}/backups");
    expect(all.body.result.map((row: { serviceId: string }) => row.serviceId)).toContain(of);
  });
});

describe("making one now", () => {
  test("is in progress at once, and one at a time", async () => {
    const of = await newService();
    const made = await api.call("POST", `${services}/${of}/backups`);
    expect(made.body.result).toMatchObject({ serviceId: of, status: "in_progress", verification: "pending" });
    expect(made.body.result.backupName).toMatch(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/);
    expect((await api.call("POST", `${services}/${of}/backups`)).body).toMatchObject({ code: "CONFLICT" });
  });

  test("of a service that was never there yet is refused", async () => {
    const { body } = await api.call("POST", services, { body: { name: "new" } });
    expect((await api.call("POST", `${services}/${body.result.service.id}/backups`)).status).toBe(409);
  });
});

describe("the configuration", () => {
  const path = () => `${root}/backupConfiguration`;
  const patch = (body: object) => api.call("PATCH", path(), { body });

  test("has the ClickHouse Cloud API's defaults; null resets a member", async () => {
    const defaults = { backupPeriodInHours: 24, backupRetentionPeriodInHours: 24, backupStartTime: null };
    expect((await api.call("GET", path())).body.result).toEqual(defaults);
    expect((await patch({ backupPeriodInHours: 6, backupRetentionPeriodInHours: 720 })).body.result).toEqual({
      backupPeriodInHours: 6,
      backupRetentionPeriodInHours: 720,
      backupStartTime: null,
    });
    const daily = await patch({ backupStartTime: "03:30" });
    expect(daily.body.result).toMatchObject({ backupPeriodInHours: 24, backupStartTime: "03:30" });
    expect((await patch({ backupPeriodInHours: 12 })).body.result).toMatchObject({ backupStartTime: null });
    const reset = { backupPeriodInHours: null, backupRetentionPeriodInHours: null, backupStartTime: null };
    expect((await patch(reset)).body.result).toEqual(defaults);
  });

  test.each([
    [{ backupPeriodInHours: 5 }, "backupPeriodInHours"],
    [{ backupRetentionPeriodInHours: 23 }, "backupRetentionPeriodInHours"],
    [{ backupRetentionPeriodInHours: 25 }, "backupRetentionPeriodInHours"],
    [{ backupRetentionPeriodInHours: 1104 }, "backupRetentionPeriodInHours"],
    [{ backupStartTime: "24:00" }, "backupStartTime"],
    [{ backupStartTime: "3:30" }, "backupStartTime"],
    [{ backupStartTime: "03:30", backupPeriodInHours: 6 }, "backupPeriodInHours"],
    [{ period: 6 }, "period"],
  ])("%j is refused, naming the member", async (body, member) => {
    const answer = await patch(body);
    expect(answer.status).toBe(400);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(member);
  });

  test("is changed by admins only", async () => {
    const key = await api.credentials.createKey({
      ...{ organizationId: api.organizationId, name: "dev", role: "developer", state: "enabled", expireAt: null },
    });
    const auth = basic(key.key.keyId, key.secret);
    expect((await api.call("PATCH", path(), { body: { backupPeriodInHours: 6 }, auth })).status).toBe(403);
    expect((await api.call("GET", path(), { auth })).status).toBe(200);
  });
});

describe("restoring", () => {
  test.each([
    ["failed", { status: "error", error: "disk full", verification: "pending" }, "CONFLICT", /it failed \(disk full\)/],
    ["running", { status: "in_progress", verification: "pending" }, "CONFLICT", /not finished/],
    ["unchecked", { verification: "pending" }, "BACKUP_UNUSABLE", /not been verified/],
    [
      "damaged",
      { verification: "failed", problems: ["data.bin is missing"] },
      "BACKUP_UNUSABLE",
      /data\.bin is missing/,
    ],
  ] as const)("a %s backup is refused, and nothing is created", async (_, change, code, reason) => {
    const backupId = await backup(serviceId, change);
    const before = (await api.call("GET", services)).body.result.length;
    const answer = await api.call("POST", services, { body: { name: "copy", backupId } });
    expect(answer.body).toMatchObject({ code, error: expect.stringMatching(reason) });
    const part = { database: "default", targetDatabase: "d" };
    expect((await api.call("POST", `${root}/backups/${backupId}/restore`, { body: part })).body.code).toBe(code);
    expect((await api.call("GET", services)).body.result.length).toBe(before);
  });

  test("a damaged one is taken when forced; the service waits for it in provisioning", async () => {
    const backupId = await backup(serviceId, { verification: "failed" });
    const { body } = await api.call("POST", services, { body: { name: "copy", backupId, force: true } });
    expect(body.result.service.state).toBe("provisioning");
    expect(await api.restores.findUnfinishedFor(body.result.service.id)).toMatchObject({
      forced: true,
      pipes: "stopped",
    });
  });

  test("of an unknown backup is 404; its options without it are refused", async () => {
    const unknown = await api.call("POST", services, { body: { name: "copy", backupId: noId } });
    expect(unknown.status).toBe(404);
    expect((await api.call("POST", services, { body: { name: "copy", force: true } })).status).toBe(400);
  });

  test("a part says where it goes, and is listed", async () => {
    const backupId = await stored(serviceId);
    const body = { database: "a", table: "t", targetDatabase: "b" };
    const { result } = (await api.call("POST", `${root}/backups/${backupId}/restore`, { body })).body;
    expect(result).toMatchObject({
      ...{ backupId, serviceId, scope: "table", sourceDatabase: "a", sourceTable: "t" },
      ...{ targetDatabase: "b", targetTable: "t", status: "queued", notes: [] },
    });
    expect((await api.call("GET", `${root}/restores/${result.id}`)).body.result).toEqual(result);
    expect((await api.call("GET", `${root}/restores`)).body.result).toEqual([result]);
    expect((await api.call("GET", `${root}/restores/${noId}`)).status).toBe(404);
  });

  test.each([
    ["table", { table: "other" }, "The backup holds no table a.other."],
    ["database", { database: "c" }, "The backup holds no database c."],
  ])(
    "a %s that the backup does not hold is refused by its name, and nothing is requested",
    async (path, part, says) => {
      const backupId = await stored(serviceId);
      const before = (await api.call("GET", `${root}/restores`)).body.result;
      const body = { database: "a", targetDatabase: "b", ...part };
      expect((await api.call("POST", `${root}/backups/${backupId}/restore`, { body })).body).toMatchObject({
        ...{ code: "NOT_FOUND", issues: [{ path, message: says }] },
      });
      expect((await api.call("GET", `${root}/restores`)).body.result).toEqual(before);
    },
  );

  test("a part of a backup whose files are gone is refused at the request", async () => {
    const body = { database: "a", targetDatabase: "b" };
    const gone = await api.call("POST", `${root}/backups/${await backup(serviceId)}/restore`, { body });
    expect(gone.body).toMatchObject({ status: 422, code: "BACKUP_UNUSABLE" });
  });
});

test("a backup of another service is not found under this one", async () => {
  const other = await newService();
  const backupId = await backup(other);
  expect((await api.call("GET", `${root}/backups/${backupId}`)).status).toBe(404);
  expect((await api.call("GET", `${services}/${other}/backups/${backupId}`)).body.result).toMatchObject({
    ...{ id: backupId, encrypted: false, trigger: "schedule", problems: [] },
  });
});

test("a deep check that was asked for is not made shallower by another request", async () => {
  const backupId = await backup(serviceId);
  const verify = (body: object) => api.call("POST", `${root}/backups/${backupId}/verify`, { body });
  expect((await verify({ deep: true })).body.result.checkRequested).toBe("deep");
  expect((await verify({})).body.result.checkRequested).toBe("deep");
});
