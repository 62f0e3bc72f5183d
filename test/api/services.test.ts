import { createHash } from "node:crypto";
import { totalmem } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, startApi } from "./harness.ts";

const services = "/v1/organizations/{o}/services";
const recordMembers = [
  ...["availablePrivateEndpointIds", "createdAt", "dataWarehouseId", "databaseVersion", "endpoints"],
  ...["hasTransparentDataEncryption", "id", "idleScaling", "idleTimeoutMinutes", "ipAccessList", "isPrimary"],
  ...["isReadonly", "maxReplicaMemoryGb", "maxTotalMemoryGb", "minReplicaMemoryGb", "minTotalMemoryGb", "name"],
  ...["numReplicas", "privateEndpointIds"],
];

describe("services", () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api[Symbol.asyncDispose]());

  const create = async (body: object = {}) =>
    (await api.call("POST", services, { body: { name: "s", ...body } })).body.result;

  test("A1 returns exactly the contract's record, integers without a point, times in UTC", async () => {
    const { service } = await create({
      minReplicaMemoryGb: 8,
      maxReplicaMemoryGb: 16,
      ipAccessList: [{ source: "10.0.0.0/8" }],
    });
    const answer = await api.call("PATCH", `${services}/${service.id}/state`, { body: { command: "stop" } });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body.result).sort()).toEqual(recordMembers);
    expect(answer.body.result).toMatchObject({
      minTotalMemoryGb: 8,
      maxTotalMemoryGb: 16,
      numReplicas: 1,
      ipAccessList: [{ source: "10.0.0.0/8", description: "" }],
    });
    expect(answer.body.result.endpoints[0]).toMatchObject({ protocol: "http", host: "127.0.0.1", username: "default" });
    expect(answer.text).not.toMatch(/\d\.0[,}]/);
    expect(answer.body.result.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("what needs nobody's attention is told by the service itself, and not by the list", async () => {
    const { service } = await create({ maxReplicaMemoryGb: 356 });
    const { body } = await api.call("GET", `${services}/${service.id}`);
    const isLess = totalmem() * 0.9 < 356 * 2 ** 30;
    if (isLess) expect(body.result.stateMessage).toMatch(/^The machine has \d/);
    const { result } = (await api.call("GET", services)).body;
    expect(result.find(({ id }: { id: string }) => id === service.id).stateMessage).toBeUndefined();
  });

  test("a service of which a member cannot be read is failed with the reason, hides no other, and can be mended", async () => {
    const [{ service: broken }, { service: fine }] = [await create({ tags: [{ key: "a" }] }), await create()];
    const listed = async () => {
      const { result } = (await api.call("GET", services)).body;
      return [broken, fine].map(({ id }) => result.find((one: { id: string }) => one.id === id));
    };
    for (const [column, json, reason] of [
      ["tags", '[{"key":5}]', /^The stored tags of the service cannot be read: 0\.key: /],
      ["ip_access_list", "[{", /^The stored access list of the service cannot be read: it is not JSON\.$/],
      ["connection", '{"v":99}', /^The stored connection of the service cannot be read: it has version 99/],
    ] as const) {
      await api.db.run(`UPDATE services SET ${column} = ? WHERE id = ?`, json, broken.id);
      const [shown, other] = await listed();
      expect(shown).toMatchObject({ state: "failed", stateMessage: expect.stringMatching(reason) });
      expect(other.state).not.toBe("failed");
      await api.db.run(
        `UPDATE services SET ${column} = ? WHERE id = ?`,
        column === "connection" ? null : "[]",
        broken.id,
      );
    }
    expect((await listed())[0].state).not.toBe("failed");
    await api.db.run("UPDATE services SET tags = '{' WHERE id = ?", broken.id);
    const body = { tags: { add: [{ key: "new" }] } };
    const mended = await api.call("PATCH", `${services}/${broken.id}`, { body });
    expect(mended.body.result).toMatchObject({ tags: [{ key: "new" }] });
    expect(mended.body.result.state).not.toBe("failed");
  });

  test("a user whose rights cannot be read has none and says why, hides no other, and can be deleted", async () => {
    const { service } = await create();
    const users = `${services}/${service.id}/users`;
    await api.call("POST", users, { body: { name: "reader", readonly: true } });
    for (const name of ["anna", "ben"]) {
      await api.db.run(
        "INSERT INTO service_users (service_id, name, password_sha256, readonly, rights, created_at) VALUES (?, ?, ?, 0, ?, ?)",
        ...[service.id, name, "00", '{"v":1,"grants":[],"roles":["r"]}', new Date().toISOString()],
      );
    }
    for (const [json, reason] of [
      ["{", "The stored rights of the user anna cannot be read: it is not JSON."],
      ['{"v":99,"grants":[],"roles":[]}', expect.stringMatching(/^The stored rights of the user anna .* version 99/)],
      ['{"v":1,"grants":[{}],"roles":[]}', expect.stringMatching(/^The stored rights of the user anna .*grants/)],
    ] as const) {
      await api.db.run("UPDATE service_users SET rights = ? WHERE service_id = ? AND name = 'anna'", json, service.id);
      const { result } = (await api.call("GET", users)).body;
      const shown = Object.fromEntries(result.map((user: { name: string }) => [user.name, user]));
      expect(Object.keys(shown).sort()).toEqual(["anna", "ben", "default", "reader"]);
      expect(shown.anna).toMatchObject({ restricted: true, problem: reason });
      expect(shown.ben).toMatchObject({ restricted: true });
      for (const name of ["ben", "default", "reader"]) expect(shown[name]).not.toHaveProperty("problem");
      // What endpoints and engines are given.
      const own = (await api.services.listAllUsers()).filter(({ serviceId }) => serviceId === service.id);
      const rights = new Map(own.map((user) => [user.name, user.rights]));
      expect(rights.get("anna")).toEqual({ grants: [], roles: [] });
      expect(rights.get("ben")).toMatchObject({ roles: ["r"] });
      expect(rights.get("default")).toBeNull();
    }
    expect((await api.call("DELETE", `${users}/anna`)).status).toBe(200);
    expect((await api.call("GET", users)).body.result).toHaveLength(3);
  });

  test.each([
    [{}, "command"],
    [{ command: "restart" }, "command"],
    [{ command: null }, "command"],
    [{ command: "start", force: true }, "force"],
  ])("a state command %j is refused, naming the field", async (body, path) => {
    const { service } = await create();
    const answer = await api.call("PATCH", `${services}/${service.id}/state`, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.issues[0].path).toBe(path);
  });

  test("the state after a command is never that of before", async () => {
    const { service } = await create();
    const state = async () => (await api.call("GET", `${services}/${service.id}`)).body.result.state;
    const path = `${services}/${service.id}/state`;
    // Nothing reconciles here: what is shown follows from the stored command.
    await api.services.setState(service.id, "running", null);
    await api.call("PATCH", path, { body: { command: "stop" } });
    expect(await state()).toBe("stopping");
    await api.services.setState(service.id, "stopped", null);
    expect(await state()).toBe("stopped");
    await api.call("PATCH", path, { body: { command: "start" } });
    expect(await state()).toBe("starting");
    await api.services.setState(service.id, "idle", null);
    await api.call("PATCH", path, { body: { command: "awake" } });
    expect(await state()).toBe("awaking");
  });

  test("a state command on an unknown service is 404", async () => {
    const path = `${services}/3f2504e0-4f89-41d3-9a0c-0305e82c3301/state`;
    expect((await api.call("PATCH", path, { body: { command: "start" } })).status).toBe(404);
  });

  test("start and stop write the desired state; awake only asks an idle service", async () => {
    const { service } = await create();
    const command = (name: string) => api.call("PATCH", `${services}/${service.id}/state`, { body: { command: name } });
    await command("stop");
    expect(await api.services.find(service.id)).toMatchObject({ desiredState: "stopped" });
    expect((await command("awake")).status).toBe(409);
    await command("start");
    expect(await api.services.find(service.id)).toMatchObject({ desiredState: "running", wakeRequested: false });
    await api.services.setState(service.id, "idle", null);
    await command("start");
    expect(await api.services.find(service.id)).toMatchObject({ wakeRequested: false });
    await command("awake");
    expect(await api.services.find(service.id)).toMatchObject({ wakeRequested: true });
    await api.services.setState(service.id, "running", null);
    await api.services.setState(service.id, "failed", "it kept dying");
    await command("start");
    expect(await api.services.find(service.id)).toMatchObject({ desiredState: "running", wakeRequested: true });
  });

  test("a quota of disk is set, changed and taken away; what is used is shown when it is known", async () => {
    const { service } = await create({ diskGb: 2 });
    expect(service).toMatchObject({ diskGb: 2 });
    expect(service).not.toHaveProperty("diskUsedBytes");
    const path = `${services}/${service.id}`;
    await api.disks.report(service.id, 3 * 2 ** 30);
    const full = (await api.call("GET", path)).body.result;
    expect(full).toMatchObject({
      diskUsedBytes: 3 * 2 ** 30,
      stateMessage: expect.stringMatching(/3\.00 GiB.*diskGb/),
    });
    const change = async (body: object) => (await api.call("PATCH", path, { body })).body.result;
    expect(await change({ diskGb: 4 })).not.toHaveProperty("stateMessage");
    expect(await change({ name: "other" })).toMatchObject({ diskGb: 4 });
    expect(await change({ diskGb: null })).not.toHaveProperty("diskGb");
    for (const diskGb of [0, 1.5, "1"]) {
      expect((await api.call("PATCH", path, { body: { diskGb } })).body.issues[0].path).toBe("diskGb");
    }
  });

  test("the operator's quota of disk is for new services that name none", async () => {
    await using other = await startApi({ defaultDiskGb: 7 });
    const make = async (body: object) =>
      (await other.call("POST", services, { body: { name: "s", ...body } })).body.result.service.diskGb;
    expect(await make({})).toBe(7);
    expect(await make({ diskGb: null })).toBe(7);
    expect(await make({ diskGb: 1 })).toBe(1);
  });

  test("more replicas than the embedded engine has are refused with the reason", async () => {
    const answer = await api.call("POST", services, { body: { name: "s", numReplicas: 3 } });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain("embedded engine runs one replica");
  });

  test("list changes remove before they add", async () => {
    const { service } = await create({ ipAccessList: [{ source: "10.0.0.1", description: "old" }] });
    const answer = await api.call("PATCH", `${services}/${service.id}`, {
      body: {
        name: "new name",
        ipAccessList: { add: [{ source: "10.0.0.1", description: "new" }], remove: [{ source: "10.0.0.1" }] },
      },
    });
    expect(answer.body.result).toMatchObject({
      name: "new name",
      ipAccessList: [{ source: "10.0.0.1", description: "new" }],
    });
  });

  test("only a service that is not running can be deleted; afterwards it is not found", async () => {
    const { service } = await create();
    await api.services.setState(service.id, "running", null);
    const refused = await api.call("DELETE", `${services}/${service.id}`);
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatch(/^CONFLICT: .*Current state: 'running'/);
    await api.services.setState(service.id, "stopped", null);
    const deleted = await api.call("DELETE", `${services}/${service.id}`);
    expect([deleted.status, deleted.body.result]).toEqual([200, { leftovers: [] }]);
    expect((await api.call("GET", `${services}/${service.id}`)).status).toBe(404);
  });

  test("passwords: generated ones are shown once, given hashes are stored and not answered", async () => {
    const { service, password } = await create();
    const path = `${services}/${service.id}/password`;
    const sha = (text: string) => createHash("sha256").update(text).digest();
    const stored = async () => (await api.services.listUsers(service.id))[0]?.passwordSha256;
    expect(await stored()).toBe(sha(password).toString("hex"));
    const generated = await api.call("PATCH", path, { body: {} });
    expect(await stored()).toBe(sha(generated.body.result.password).toString("hex"));
    const given = await api.call("PATCH", path, { body: { newPasswordHash: sha("mine").toString("base64") } });
    expect(given.body.result).toEqual({});
    expect(await stored()).toBe(sha("mine").toString("hex"));
    expect((await api.call("PATCH", path, { body: { newPasswordHash: "mine" } })).status).toBe(400);
  });

  test("users can be added once, listed without secrets, and removed, except default", async () => {
    const { service } = await create();
    const path = `${services}/${service.id}/users`;
    const added = await api.call("POST", path, { body: { name: "reader", readonly: true } });
    expect(added.body.result.user).toMatchObject({ name: "reader", readonly: true });
    expect((await api.call("POST", path, { body: { name: "reader" } })).status).toBe(409);
    expect((await api.call("GET", path)).text).not.toContain(added.body.result.password);
    expect((await api.call("DELETE", `${path}/default`)).status).toBe(409);
    expect((await api.call("DELETE", `${path}/reader`)).status).toBe(200);
    expect((await api.call("DELETE", `${path}/reader`)).status).toBe(404);
  });

  test("the list has the services with all tags of its filters", async () => {
    const { service } = await create({ tags: [{ key: "team", value: "a" }, { key: "lab" }] });
    await create({ tags: [{ key: "team", value: "c" }] });
    const ids = async (query: string) =>
      (await api.call("GET", `${services}?${query}`)).body.result.map(({ id }: { id: string }) => id);
    expect(await ids("filter=tag:team=a")).toEqual([service.id]);
    expect(await ids("filter=tag:lab=&filter=tag:team")).toEqual([service.id]);
    expect(await ids("filter=tag:team")).toHaveLength(2);
    expect(await ids("filter=tag:team&name=nothing")).toEqual([]);
    expect(await ids("filter=tag:team=a=b")).toEqual([]);
    const { status, body } = await api.call("GET", `${services}?filter=tag:team&filter=team`);
    expect([status, body.issues]).toEqual([400, [{ path: "filter.1", message: "must be tag:KEY or tag:KEY=VALUE" }]]);
  });

  test("A4 lists the backups of a service", async () => {
    const { service } = await create();
    expect((await api.call("GET", `${services}/${service.id}/backups`)).body).toMatchObject({
      status: 200,
      result: [],
    });
  });
});

describe("documents", () => {
  test("/openapi.json is OpenAPI 3.1 with every operation, and /docs is readable without outside resources", async () => {
    await using api = await startApi();
    const { body } = await api.call("GET", "/openapi.json", { auth: null });
    expect(body.openapi).toMatch(/^3\.1/);
    expect(Object.keys(body.paths["/v1/organizations/{organizationId}/services/{serviceId}/pipes"])).toEqual([
      "post",
      "get",
    ]);
    const page = await api.call("GET", "/docs", { auth: null });
    expect(page.text).toContain("updateServiceState");
    expect(page.text).not.toMatch(/<script|https?:\/\//);
  });
});
