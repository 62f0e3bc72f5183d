/** The list of all pipes of an organization: what it says, its pages, filters and cost. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { type Api, basic, startApi } from "./harness.ts";

const measured = new Map<string, { workers: number; gauges: Record<string, number> }>();
const clock = { now: Date.parse("2026-01-01T00:00:00Z") };

let api: Api;
let first: string;
let second: string;
beforeAll(async () => {
  api = await startApi({ measured: () => measured, now: () => clock.now });
  [first, second] = [await newService("first"), await newService("second")];
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  measured.clear();
  await api.db.run("DELETE FROM pipes");
});

async function newService(name: string): Promise<string> {
  return (await api.call("POST", "/v1/organizations/{o}/services", { body: { name } })).body.result.service.id;
}

async function newPipe(name: string, serviceId = first, sourceKind = "objectStorage"): Promise<string> {
  const definition = { sourceKind, source: {}, destination: { table: "t" }, fieldMappings: [] };
  const rest = { scaling: {}, settings: {}, secrets: { password: "sesame" }, roles: undefined };
  return await api.pipes.create({ serviceId, name, ...definition, ...rest }, limits.pipes);
}

async function sample(seconds: number): Promise<void> {
  clock.now += seconds * 1000;
  await api.vitals.pass();
}

async function list(query = "", options: { auth?: string; headers?: Record<string, string> } = {}) {
  return await api.call("GET", `/v1/organizations/{o}/pipes${query}`, options);
}

const names = async (query = "") => (await list(query)).body.result.pipes.map((pipe: { name: string }) => pipe.name);

const done = (sentRows: number) => {
  return { batchId: "b", lane: "l", marks: {}, counts: { sentRows, sentBytes: 9, errors: 2, refusedRows: 1 } };
};

describe("one pipe of the list", () => {
  test("is only what is known: a new pipe has counted nothing, and has no rates, no lag and no success", async () => {
    const id = await newPipe("p");
    await sample(2);
    const [pipe] = (await list()).body.result.pipes;
    expect(pipe).toEqual({
      ...{ id, name: "p", serviceId: first, serviceName: "first", kind: "objectStorage", destination: { table: "t" } },
      ...{ state: "Provisioning", stateChangedAt: expect.any(String), workers: 0 },
      ...{ version: 1, createdAt: expect.any(String), updatedAt: expect.any(String) },
      ...{ rows: 0, bytes: 0, errors: 0, refusedRows: 0, refusedObjects: 0 },
    });
  });

  test("has rates, and the lag in each unit its source knows, with trend and end", async () => {
    const id = await newPipe("p");
    for (const [rows, lagMessages] of [
      [0, 2000],
      [100, 1500],
      [100, 1000],
    ] as const) {
      await api.ledger.confirm(id, done(rows));
      measured.set(id, { workers: 2, gauges: { lagMessages, latencyMs: 1500, "lagSeconds:0": 40, "lagSeconds:1": 4 } });
      await sample(10);
    }
    expect((await list()).body.result.pipes[0]).toMatchObject({
      workers: 2,
      rates: { rowsPerSecond: 10, bytesPerSecond: 0.9 },
      lag: { rows: 1000, seconds: 40, trend: "shrinking", etaSeconds: 20 },
      latencySeconds: 1.5,
      rows: 200,
      bytes: 27,
      ...{ errors: 6, refusedRows: 3, refusedObjects: 3 },
    });
  });

  test("after a command it has the state that a pipe alone has, also for filters", async () => {
    const id = await newPipe("p");
    await api.pipes.setState(id, "Degraded", "the source fails", 1);
    await api.pipes.change(id, { desiredState: "stopped" });
    const alone = (await api.call("GET", `/v1/organizations/{o}/services/${first}/pipes/${id}`)).body.result;
    const [listed] = (await list()).body.result.pipes;
    expect([alone.state, listed.state]).toEqual(["Stopping", "Stopping"]);
    expect([alone.lastError, listed.stateMessage]).toEqual([undefined, undefined]);
    expect(await names("?state=Stopping")).toEqual(["p"]);
    expect(await names("?state=Degraded")).toEqual([]);
  });

  test("state, last success and last error are three facts: none goes away with another", async () => {
    const id = await newPipe("p");
    await api.pipes.setState(id, "Degraded", "the source fails: no route", 1);
    await api.ledger.confirm(id, done(1));
    await api.pipes.setState(id, "Running", null, 1);
    await api.pipes.setState(id, "Stopped", "waiting for the service. Current state: stopped", 1);
    await sample(2);
    const [pipe] = (await list()).body.result.pipes;
    expect(pipe).toMatchObject({
      state: "Stopped",
      stateMessage: "waiting for the service. Current state: stopped",
      lastSuccessAt: expect.any(String),
      lastError: { message: "the source fails: no route", at: expect.any(String) },
    });
    expect(pipe.lastError.at <= pipe.lastSuccessAt && pipe.lastSuccessAt <= pipe.stateChangedAt).toBe(true);
  });

  test("the state's age is that of the state: another reason or definition does not make it younger", async () => {
    const id = await newPipe("p");
    await api.pipes.setState(id, "Degraded", "one", 1);
    const before = "2026-01-01T00:00:00.000Z";
    await api.db.run("UPDATE pipes SET state_changed_at = ? WHERE id = ?", before, id);
    const since = async () => (await list()).body.result.pipes[0].stateChangedAt;
    await api.pipes.setState(id, "Degraded", "two", 2);
    expect(await since()).toBe(before);
    await api.pipes.setState(id, "Running", null, 2);
    expect((await since()) > before).toBe(true);
  });
});

describe("the list", () => {
  test("filters by state, kind, service and name, and counts what matches", async () => {
    const id = await newPipe("Clicks 100%");
    await newPipe("events", second, "messageBroker");
    await newPipe("gone", second, "relationalDb");
    await api.pipes.setState(id, "Failed", "x", 1);
    expect(await names("?state=Failed,Degraded")).toEqual(["Clicks 100%"]);
    expect(await names("?state=Failed&state=Provisioning&kind=messageBroker")).toEqual(["events"]);
    expect(await names(`?serviceId=${second}&sort=name`)).toEqual(["events", "gone"]);
    expect(await names("?name=cLICks%20100%25")).toEqual(["Clicks 100%"]);
    expect((await list("?state=Provisioning&limit=1")).body.result).toMatchObject({ total: 2 });
    expect((await list("?state=Nowhere")).status).toBe(400);
    expect((await list("?sort=colour")).status).toBe(400);
  });

  test("is read page by page while pipes come and go: none twice, none left out", async () => {
    for (let i = 0; i < 25; i += 1) await newPipe(`p${String(i).padStart(2, "0")}`);
    const seen: string[] = [];
    for (let cursor = "", i = 0; i < 5; i += 1) {
      const { result } = (await list(`?sort=name&limit=10${cursor}`)).body;
      seen.push(...result.pipes.map((pipe: { name: string }) => pipe.name));
      await newPipe("p00-added");
      if (result.nextCursor === undefined) break;
      cursor = `&cursor=${result.nextCursor}`;
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `p${String(i).padStart(2, "0")}`));
    expect((await list("?cursor=nonsense")).body).toMatchObject({ status: 400, issues: [{ path: "cursor" }] });
  });

  test("is sorted by lag in both orders, with unknown lags last", async () => {
    const lags = { a: 5, b: 50, c: undefined };
    for (const [name, lagSeconds] of Object.entries(lags)) {
      const id = await newPipe(name);
      measured.set(id, { workers: 1, gauges: lagSeconds === undefined ? {} : { lagSeconds } });
    }
    await sample(2);
    expect(await names("?sort=lag&order=desc")).toEqual(["b", "a", "c"]);
    expect(await names("?sort=lag")).toEqual(["a", "b", "c"]);
  });

  test("does not show pipes of other organizations, of deleted services, nor any secret", async () => {
    await newPipe("ours");
    const other = await api.organizations.create("Other");
    const owner = { organizationId: other.id, name: "k", expireAt: null };
    const { key, secret } = await api.credentials.createKey({ ...owner, role: "read_only", state: "enabled" });
    const theirs = await api.call("GET", `/v1/organizations/${other.id}/pipes`, { auth: basic(key.keyId, secret) });
    expect(theirs.body.result).toEqual({ pipes: [], total: 0 });
    expect((await list("", { auth: basic(key.keyId, secret) })).status).toBe(404);
    expect((await list()).text).not.toContain("sesame");
    const third = await newService("third");
    await newPipe("with its service", third);
    await api.services.setDesired(third, "deleted");
    expect(await names()).toEqual(["ours"]);
  });
});

describe("its entity tag", () => {
  const status = async (tag: string) => (await list("", { headers: { "if-none-match": tag } })).status;
  const tagOf = async () => (await list()).headers.etag as string;

  test("stands while batches are loaded between two samples, and changes with the sample", async () => {
    const id = await newPipe("p");
    measured.set(id, { workers: 1, gauges: {} });
    await sample(2);
    const tag = await tagOf();
    await api.ledger.confirm(id, done(5));
    expect(await status(tag)).toBe(304);
    await sample(2);
    expect(await status(tag)).toBe(200);
    expect((await list()).body.result.pipes[0].rows).toBe(5);
  });

  test("changes at once with a state, a name, a new pipe and the name of a service", async () => {
    const id = await newPipe("p");
    const changes = [
      () => api.pipes.setState(id, "Running", null, 1),
      () => api.pipes.change(id, { name: "q" }),
      () => newPipe("r"),
      () => api.services.change(first, { name: "renamed" }),
      () => api.pipes.change(id, { desiredState: "deleted" }),
    ];
    for (const change of changes) {
      const tag = await tagOf();
      expect(await status(tag)).toBe(304);
      await change();
      expect(await status(tag)).toBe(200);
    }
  });
});

describe("the list of services", () => {
  test("says since when, how many pipes, how many rows and what the last backup is worth", async () => {
    const id = await newService("counted");
    const running = await newPipe("a", id);
    await newPipe("b", id);
    await api.pipes.setState(running, "Running", null, 1);
    await api.services.setTableRows(id, 77);
    const backup = { organizationId: api.organizationId, serviceId: id, serviceName: "counted", encrypted: false };
    const kind = { trigger: "request", type: "full", baseId: null, location: { kind: "local", root: "" } } as const;
    const old = { ...backup, ...kind, name: "old", status: "done", startedAt: "2026-01-01T00:00:00.000Z" } as const;
    await api.backups.insert({ ...old, name: "new", status: "error", startedAt: "2026-01-02T00:00:00.000Z" });
    await api.backups.insert(old);
    const { result } = (await api.call("GET", "/v1/organizations/{o}/services?name=COUNT")).body;
    expect(result).toHaveLength(1);
    expect(result[0]).toMatchObject({
      ...{ stateChangedAt: expect.any(String), rows: 77, pipes: { total: 2, running: 1 } },
      lastBackup: { name: "new", status: "error", verification: "pending" },
    });
    expect(result[0].lastBackup).not.toHaveProperty("verifiedAt");
    const one = (await api.call("GET", `/v1/organizations/{o}/services/${id}`)).body.result;
    expect(one).toEqual(result[0]);
  });

  test("is sorted and filtered; what was never measured is absent", async () => {
    const sorted = (await api.call("GET", "/v1/organizations/{o}/services?sort=name&order=desc")).body.result;
    const shown = sorted.map((service: { name: string }) => service.name);
    expect(shown).toEqual([...shown].sort().reverse());
    expect(sorted.find((service: { name: string }) => service.name === "second")).not.toHaveProperty("rows");
    expect((await api.call("GET", "/v1/organizations/{o}/services?state=running")).body.result).toEqual([]);
  });

  test("has pages with limit: the header Link names the next one, with the same filters and order", async () => {
    const first = "/v1/organizations/{o}/services?name=c&sort=name&order=desc";
    const whole = (await api.call("GET", first)).body.result.map(({ name }: { name: string }) => name);
    expect(whole.length).toBeGreaterThan(1);
    const paged: string[] = [];
    for (let next: string | undefined = `${first}&limit=1`; next !== undefined; ) {
      const { headers, body } = await api.call("GET", next);
      expect(body.result).toHaveLength(1);
      paged.push(body.result[0].name);
      const again = await api.call("GET", next, { headers: { "if-none-match": headers.etag as string } });
      expect([again.status, again.headers.link]).toEqual([304, headers.link]);
      next = /^<(\/v1\/[^>]*)>; rel="next"$/.exec(headers.link ?? "")?.[1];
    }
    expect(paged).toEqual(whole);
    expect((await api.call("GET", first)).headers).not.toHaveProperty("link");
    const other = await api.call("GET", "/v1/organizations/{o}/services?limit=1&cursor=x");
    expect(other.body.issues).toEqual([{ path: "cursor", message: "is not a cursor of this list with this order" }]);
  });
});
