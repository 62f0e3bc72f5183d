/** Services, keys and organizations through the ClickHouse Cloud API: the requests of its clients in their order. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CloudCall, cloudCaller } from "./cloud.ts";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let call: CloudCall;
beforeAll(async () => {
  api = await startApi();
  call = cloudCaller(api);
});
afterAll(() => api[Symbol.asyncDispose]());

const wanted = {
  ...{ isReadonly: false, name: "orders", provider: "aws", region: "us-east-1", idleScaling: true },
  ...{ idleTimeoutMinutes: 15, autoscalingMode: "vertical", minReplicaMemoryGb: 8, maxReplicaMemoryGb: 16 },
  ipAccessList: [{ source: "0.0.0.0/0", description: "anywhere" }],
  tags: [{ key: "env", value: "test" }],
};

async function created(change: object = {}): Promise<{ readonly path: string; readonly id: string }> {
  const { status, body } = await call("POST", "/services", { ...wanted, ...change });
  expect(status, body.error).toBe(200);
  return { path: `/services/${body.result.service.id}`, id: body.result.service.id };
}

test("a service is created, read while it starts, changed, stopped and deleted", async () => {
  const { path, id } = await created({ enableCoreDumps: false, tier: "production", privatePreviewTermsChecked: true });
  expect((await call("GET", path)).body.result).toMatchObject({
    ...{ ...wanted, id, isPrimary: true, enableCoreDumps: false, tier: "production" },
    ...{ minTotalMemoryGb: 24, maxTotalMemoryGb: 48, clickhouseVersion: expect.stringMatching(/^\d/) },
    endpoints: [{ protocol: "https", host: "127.0.0.1", username: "default" }],
    currentScaling: { effectiveMinReplicaMemoryGb: 8, effectiveMaxReplicaMemoryGb: 16, effectiveMinReplicas: 1 },
  });
  const endpoint = await call("GET", `${path}/privateEndpointConfig`);
  expect(endpoint.body.result).toEqual({ endpointServiceId: "", privateDnsHostname: "" });
  expect((await call("GET", `${path}/serviceQueryEndpoint`)).status).toBe(404);
  expect((await call("GET", `${path}/backupConfiguration`)).body.result).toEqual({
    ...{ backupPeriodInHours: 24, backupRetentionPeriodInHours: 24 },
  });
  const newPasswordHash = createHash("sha256").update("Accept-Me-1").digest("base64");
  const newDoubleSha1Hash = "a".repeat(40);
  expect((await call("PATCH", `${path}/password`, { newPasswordHash, newDoubleSha1Hash })).status).toBe(200);
  const change = {
    name: "renamed",
    ipAccessList: { add: [{ source: "10.0.0.0/8", description: "inside" }], remove: wanted.ipAccessList },
    tags: { add: [{ key: "team", value: "a" }], remove: wanted.tags },
    ...{ releaseChannel: "fast", enableCoreDumps: false, privateEndpointIds: { add: [], remove: [] } },
  };
  const { result } = (await call("PATCH", path, change)).body;
  expect(result).toMatchObject({ name: "renamed", tags: [{ key: "team", value: "a" }], tier: "production" });
  expect(result.ipAccessList).toEqual([{ source: "10.0.0.0/8", description: "inside" }]);
  const scaling = { idleScaling: false, autoscalingMode: "vertical", minReplicaMemoryGb: 12 };
  expect((await call("PATCH", `${path}/replicaScaling`, scaling)).body.result).toMatchObject(scaling);
  await api.services.setState(id, "running", null);
  const stopped = await call("PATCH", `${path}/state`, { command: "stop" });
  expect(stopped.body.result).toMatchObject({ state: "stopping", provider: "aws", region: "us-east-1", tags: [{}] });
  await api.services.setState(id, "stopped", null);
  expect((await call("DELETE", path)).status).toBe(200);
});

test("the total memory of three workers is the memory of one replica", async () => {
  const { path } = await created({
    minReplicaMemoryGb: null,
    maxReplicaMemoryGb: null,
    minTotalMemoryGb: 24,
    maxTotalMemoryGb: 48,
  });
  expect((await call("GET", path)).body.result).toMatchObject({ minReplicaMemoryGb: 8, maxReplicaMemoryGb: 16 });
  const { body } = await call("PATCH", `${path}/scaling`, { minTotalMemoryGb: 36, maxTotalMemoryGb: 72 });
  expect(body.result).toMatchObject({ minReplicaMemoryGb: 12, maxReplicaMemoryGb: 24, maxTotalMemoryGb: 72 });
  const refused = await call("PATCH", `${path}/scaling`, { minTotalMemoryGb: 25 });
  expect(refused.body.error).toMatch(/^BAD_REQUEST: minTotalMemoryGb: must be a number that is divisible by 3/);
});

test("a size that is not a valid total there is left out, and not invented", async () => {
  const { path } = await created({ minReplicaMemoryGb: 4, maxReplicaMemoryGb: 8 });
  const { result } = (await call("GET", path)).body;
  expect(result).toMatchObject({ minReplicaMemoryGb: 4, maxTotalMemoryGb: 24 });
  expect(result).not.toHaveProperty("minTotalMemoryGb");
});

test("the list is filtered by tags, and refuses another filter", async () => {
  const { id } = await created({ tags: [{ key: "env", value: "filtered" }, { key: "owner" }] });
  const ids = async (query: string) =>
    (await call("GET", `/services?${query}`)).body.result.map((service: { id: string }) => service.id);
  expect(await ids("filter=tag:env=filtered")).toEqual([id]);
  expect(await ids("filter=tag:env=filtered&filter=tag:owner")).toEqual([id]);
  expect(await ids("filter=tag:env=filtered&filter=tag:other")).toEqual([]);
  expect(await ids("filter=tag:env=nope")).toEqual([]);
  const refused = await call("GET", "/services?filter=name=x");
  expect([refused.status, refused.body.issues]).toEqual([
    400,
    [{ path: "filter.0", message: "must be tag:KEY or tag:KEY=VALUE" }],
  ]);
  expect((await call("GET", "/services?state=running")).body.error).toContain("state: is not a known query parameter");
});

test("a start time of backups comes with the period of a day", async () => {
  const { path } = await created();
  const times = { backupStartTime: "10:00", backupRetentionPeriodInHours: 48 };
  const { status, body } = await call("PATCH", `${path}/backupConfiguration`, { ...times, backupPeriodInHours: 24 });
  expect([status, body.result]).toEqual([200, { ...times, backupPeriodInHours: 24 }]);
  const other = await call("PATCH", `${path}/backupConfiguration`, { ...times, backupPeriodInHours: 12 });
  expect(other.body.error).toContain("cannot be combined with backupStartTime");
  const reset = { backupStartTime: null, backupPeriodInHours: 12, backupRetentionPeriodInHours: 48 };
  expect((await call("PATCH", `${path}/backupConfiguration`, reset)).body.result).not.toHaveProperty("backupStartTime");
});

test("a service that is made from a backup gets no pipes of it", async () => {
  const { id: serviceId } = await created();
  const backupId = await api.backups.insert({
    ...{ organizationId: api.organizationId, serviceId, serviceName: "s", name: "n", trigger: "schedule" },
    ...{ type: "full", baseId: null, encrypted: false, location: { kind: "local", root: "/x" }, status: "done" },
    ...{ verification: "passed", startedAt: "2026-01-01T00:00:00.000Z", finishedAt: "2026-01-01T00:00:05.000Z" },
    sizeBytes: 10,
  });
  const backup = await call("GET", `/services/${serviceId}/backups/${backupId}`);
  expect(backup.body.result).toMatchObject({ status: "done", finishedAt: "2026-01-01T00:00:05.000Z" });
  expect((await call("GET", `/services/${serviceId}/backups`)).body.result).toHaveLength(1);
  const { id } = await created({ name: "copy", backupId });
  expect(await api.restores.findUnfinishedFor(id)).toMatchObject({ backupId, pipes: "none" });
});

describe("members that this server does not have", () => {
  test.each([
    ["autoscalingMode", "horizontal"],
    ["enableCoreDumps", true],
    ["endpoints", [{ protocol: "mysql", enabled: true }]],
    ["hasTransparentDataEncryption", true],
    ["privateEndpointIds", ["vpce-1"]],
    ["encryptionKey", "arn:aws:kms:1"],
    ["complianceType", "hipaa"],
    ["dataWarehouseId", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
    ["byocId", "b"],
    ["minReplicas", 1],
    ["numReplicas", 3],
    ["isReadonly", true],
  ])("%s is refused by name, and nothing is created", async (name, value) => {
    const before = (await call("GET", "/services")).body.result.length;
    const { status, body } = await call("POST", "/services", { ...wanted, [name]: value });
    expect(status).toBe(400);
    expect(body.issues).toEqual([{ path: name, message: expect.any(String) }]);
    expect(body.error).toContain(name);
    expect((await call("GET", "/services")).body.result).toHaveLength(before);
  });

  test("all of them are named at once, and an unknown one like everywhere", async () => {
    const { body } = await call("POST", "/services", { ...wanted, autoscalingMode: "horizontal", byocId: "b" });
    expect(body.code).toBe("NOT_SUPPORTED");
    expect(body.issues.map(({ path }: { path: string }) => path)).toEqual(["autoscalingMode", "byocId"]);
    const unknown = await call("POST", "/services", { ...wanted, colour: "red" });
    expect(unknown.body.error).toBe("BAD_REQUEST: Invalid request body: colour: is not a known field");
  });

  test("those without an effect are accepted: nothing is asked for", async () => {
    const { path } = await created({
      ...{ endpoints: [{ protocol: "mysql", enabled: false }], hasTransparentDataEncryption: false },
      ...{ privateEndpointIds: [], byocId: null, numReplicas: 1 },
    });
    expect((await call("PATCH", path, { endpoints: [{ protocol: "mysql", enabled: false }] })).status).toBe(200);
  });
});

test("an organization is read and renamed, and a change of nothing that we have is accepted", async () => {
  const { result } = (await call("GET", "")).body;
  expect(result).toMatchObject({ privateEndpoints: [], enableCoreDumps: false });
  expect((await call("PATCH", "", { enableCoreDumps: false })).body.result).toEqual(result);
  const change = { name: "New name", privateEndpoints: { add: [], remove: [] } };
  expect((await call("PATCH", "", change)).body.result).toEqual({ ...result, name: "New name" });
  expect((await call("PATCH", "", { enableCoreDumps: true })).body.error).toContain("enableCoreDumps must be false");
});

test("a key is made with the role of a developer unless it names one", async () => {
  const { body } = await call("POST", "/keys", { name: "ci", assignedRoleIds: [] });
  expect(body.result.key).toMatchObject({ roles: ["developer"], assignedRoles: [{ roleName: "developer" }] });
  const path = `/keys/${body.result.key.id}`;
  expect((await call("PATCH", path, { name: "renamed" })).body.result.name).toBe("renamed");
  const roles = await call("PATCH", path, { assignedRoleIds: ["3f2504e0-4f89-41d3-9a0c-0305e82c3301"] });
  expect(roles.body.error).toContain("assignedRoleIds must be empty");
  expect((await call("GET", path)).body.result.name).toBe("renamed");
  expect((await call("DELETE", path)).status).toBe(200);
  expect((await call("GET", path)).status).toBe(404);
});

test("the access list of a key holds, is shown and is replaced", async () => {
  const { body } = await call("POST", "/keys", { name: "shut", ipAccessList: [] });
  const { key, keyId, keySecret } = body.result;
  const auth = basic(keyId, keySecret);
  expect(key.ipAccessList).toEqual([]);
  expect((await call("GET", "/services", undefined, { auth })).status).toBe(403);
  const path = `/keys/${key.id}`;
  const own = [{ source: "127.0.0.0/8", description: "here" }];
  expect((await call("PATCH", path, { ipAccessList: own })).body.result.ipAccessList).toEqual(own);
  expect((await call("GET", path)).body.result.ipAccessList).toEqual(own);
  expect((await call("GET", "/services", undefined, { auth })).status).toBe(200);
  const refused = await call("PATCH", path, { ipAccessList: [{ source: "office" }] });
  expect([refused.status, refused.body.issues[0].path]).toEqual([400, "ipAccessList.0.source"]);
});

test("roles hold as in the management API, and activities name its operations", async () => {
  const owner = { organizationId: api.organizationId, name: "reader", expireAt: null };
  const { key, secret } = await api.credentials.createKey({ ...owner, role: "read_only", state: "enabled" });
  const auth = basic(key.keyId, secret);
  expect((await call("GET", "/services", undefined, { auth })).status).toBe(200);
  expect((await call("POST", "/services", wanted, { auth })).status).toBe(403);
  expect((await call("POST", "/services", wanted, { auth: null })).status).toBe(401);
  const { id } = await created({ name: "traced" });
  const { body } = await api.call("GET", "/v1/organizations/{o}/activities");
  expect(body.result.activities[0]).toMatchObject({ type: "service_create", objectId: id, objectName: "traced" });
});

test("an entity tag of a GET is known again, and a change by it applies to that version only", async () => {
  const { path } = await created();
  const { headers } = await call("GET", path);
  const again = await api.call("GET", `/cloud/v1/organizations/{o}${path}`, {
    headers: { "if-none-match": headers.etag as string },
  });
  expect(again.status).toBe(304);
  const change = (name: string) => call("PATCH", path, { name }, { headers: { "if-match": headers.etag as string } });
  expect((await change("first")).status).toBe(200);
  expect((await change("second")).status).toBe(412);
});
