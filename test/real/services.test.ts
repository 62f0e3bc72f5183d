/** Services end to end: the real program, real engines, real kills. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BenchService, query, runningService, type Served, serve, until } from "../../harness/serve.ts";

let served: Served;
let service: BenchService;

beforeAll(async () => {
  served = await serve();
  service = await runningService(served, { idleScaling: false, minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 });
  await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await query(service, "INSERT INTO t SELECT number FROM numbers(1000)");
});
afterAll(() => served[Symbol.asyncDispose]());

const state = async () => (await served.api.getService({ params: service.params })).state;
const command = (name: "start" | "stop" | "awake") =>
  served.api.updateServiceState({ params: service.params, body: { command: name } });
const enginePid = () =>
  (JSON.parse(readFileSync(`${served.dataDir}/services/${service.id}/engine.pid`, "utf8")) as { pid: number }).pid;

/** False when the endpoint refuses connections. */
const listens = (of: BenchService) =>
  query(of, "SELECT 1").then(
    () => true,
    (error) => !/fetch failed/.test(String(error)),
  );

/** Processes whose command line names our data directory. */
function processesOf(dataDir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dataDir);
      } catch {
        return false;
      }
    });
}

describe("a service on the embedded engine", () => {
  test("a new service's endpoint answers at once and its version is known before its engine has started", async () => {
    const params = { organizationId: served.credentials.organizationId };
    for (let i = 0; i < 3; i += 1) {
      const { service: made } = await served.api.createService({ params, body: { name: `new ${i}` } });
      const { host, port } = made.endpoints[0] as { host: string; port: number };
      expect(await (await fetch(`http://${host}:${port}/ping`)).text()).toBe("Ok.\n");
      expect(made.databaseVersion).toBe(await query(service, "SELECT version()"));
      const own = { ...params, serviceId: made.id };
      await served.api.updateServiceState({ params: own, body: { command: "stop" } });
      await until("stopped", async () => (await served.api.getService({ params: own })).state === "stopped");
      await served.api.deleteService({ params: own });
    }
  });

  test("rows survive stop and start; a stopped service refuses queries with its state", async () => {
    await command("stop");
    await until("stopped", async () => (await state()) === "stopped");
    await expect(query(service, "SELECT 1")).rejects.toThrow(/503.*stopped/s);
    await command("start");
    await until("running", async () => (await state()) === "running");
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
  });

  test("a query that waits or runs when its service is stopped is told so, on the endpoint and over the API", async () => {
    await command("stop");
    await until("stopped", async () => (await state()) === "stopped");
    await command("start");
    const sql = "SELECT sum(sleepEachRow(0.1)) FROM numbers(600) SETTINGS max_block_size = 1";
    // It arrives before the engine, so that the gateway forwards it.
    const atEndpoint = query(service, sql);
    const overApi = served.api.runQuery({ params: service.params, body: { query: sql, format: "TSV" } });
    const both = Promise.allSettled([atEndpoint, overApi]);
    await until("the queries run", async () => (await query(service, "SELECT count() FROM system.processes")) >= "3");
    await command("stop");
    const reason = expect.objectContaining({ message: expect.stringContaining("stopped before the query ended") });
    expect((await both).map((outcome) => (outcome as PromiseRejectedResult).reason)).toEqual([reason, reason]);
    await until("stopped", async () => (await state()) === "stopped");
    await command("start");
    await until("running", async () => (await state()) === "running");
  });

  test("kill -9 of the engine in mid-query: a clean error, then the next query works and no row is lost", async () => {
    const long = query(service, "SELECT sum(sleepEachRow(0.1)) FROM numbers(300) SETTINGS max_block_size = 1");
    long.catch(() => {});
    await until("the query runs", async () => (await query(service, "SELECT count() FROM system.processes")) >= "2");
    const before = enginePid();
    process.kill(before, "SIGKILL");
    await expect(long).rejects.toThrow();
    // A connection whose response was sent just before the engine died may still be closed under its client.
    const rows = () => query(service, "SELECT count() FROM t").catch(() => "broken");
    await until("the next query works", async () => (await rows()) === "1000");
    expect(enginePid()).not.toBe(before);
    expect(await state()).toBe("running");
  });

  test("kill -9 of the control plane: nothing stays behind, and everything asked for comes back", async () => {
    const engine = enginePid();
    served = await served.restartAfterKill();
    await until("the old engine is gone", async () => !processesOf(served.dataDir).includes(engine));
    // The API may answer a moment before the endpoint listens.
    await until("the endpoint listens", () => listens(service));
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
    await until("running", async () => (await state()) === "running");
    // One control plane and one engine host.
    expect(processesOf(served.dataDir).length).toBe(2);
  });

  test("kill -9 of the control plane while a service is being started or stopped", async () => {
    for (const [name, wanted] of [
      ["stop", "stopped"],
      ["start", "running"],
    ] as const) {
      await command(name);
      served = await served.restartAfterKill();
      await until(wanted, async () => (await state()) === wanted);
    }
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
  });

  test("metrics tell what its engine has done", async () => {
    await until("the rows are counted", async () => {
      const text = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
      const of = (name: string) =>
        Number(new RegExp(`^${name}\\{[^}]*${service.id}[^}]*\\} (\\d+)`, "m").exec(text)?.[1]);
      return of("Service_Running") === 1 && of("Service_Table_Rows") >= 1_000 && of("Service_Queries_Total") > 0;
    });
  });

  test("the memory limit is the engine's", async () => {
    const greedy = "SELECT groupArray(repeat('x', 1000)) FROM numbers(4000000) FORMAT Null SETTINGS max_threads = 1";
    await expect(query(service, greedy)).rejects.toThrow(/MEMORY_LIMIT_EXCEEDED/);
    expect(await query(service, "SELECT 1")).toBe("1");
  });

  test("a new limit of memory says when it holds, and holds after a moment without queries", async () => {
    const body = { minReplicaMemoryGb: 8, maxReplicaMemoryGb: 8 };
    const changed = await served.api.updateServiceScaling({ params: service.params, body });
    expect(changed.stateMessage).toMatch(/^The engine keeps its memory limit of 1 GiB until its next start/);
    await until("the engine has started anew", async () => {
      return (await served.api.getService({ params: service.params })).stateMessage === undefined;
    });
    const greedy = "SELECT groupArray(repeat('x', 1000)) FROM numbers(1000000) FORMAT Null SETTINGS max_threads = 1";
    expect(await query(service, greedy)).toBe("");
  });

  test("a second control plane on the same data directory is refused", async () => {
    await expect(serve({ dataDir: served.dataDir, keepData: true })).rejects.toThrow(
      /already uses this data directory .*: stop it, or use another directory/,
    );
  });

  test("deleting removes the data and the listener", async () => {
    const doomed = await runningService(served);
    await served.api.updateServiceState({ params: doomed.params, body: { command: "stop" } });
    const details = () => served.api.getService({ params: doomed.params });
    await until("stopped", async () => (await details()).state === "stopped");
    await served.api.deleteService({ params: doomed.params });
    await expect(details()).rejects.toMatchObject({ status: 404 });
    const folders = () => ["services", "backups/.staging"].flatMap((name) => readdirSync(join(served.dataDir, name)));
    await until("its folders are gone", async () => !folders().includes(doomed.id));
    await until("the listener is gone", async () => !(await listens(doomed)));
  });
});

describe("an idle service", () => {
  test("sleeps without queries, keeps its endpoint, and wakes on the first query with its rows", async () => {
    // Without prepared hosts, which are processes too.
    await using idle = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "20", MILLRACE_STANDBY_ENGINES: "0" } });
    const sleeper = await runningService(idle, { idleTimeoutMinutes: 5 });
    const current = async () => (await idle.api.getService({ params: sleeper.params })).state;
    await query(sleeper, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a");
    await query(sleeper, "INSERT INTO t SELECT 1");
    await until("idle", async () => (await current()) === "idle");
    expect(processesOf(idle.dataDir).length).toBe(1);
    // Neither `start` nor a scrape nor a ping wakes it.
    await idle.api.updateServiceState({ params: sleeper.params, body: { command: "start" } });
    await fetch(`${idle.credentials.baseUrl}/metrics`);
    expect((await fetch(`http://${sleeper.host}:${sleeper.port}/ping`)).status).toBe(200);
    expect(await current()).toBe("idle");
    // Twenty concurrent requests wake it once.
    const answers = await Promise.all(Array.from({ length: 20 }, () => query(sleeper, "SELECT count() FROM t")));
    expect(new Set(answers)).toEqual(new Set(["1"]));
    await until("idle again", async () => (await current()) === "idle");
    await idle.api.updateServiceState({ params: sleeper.params, body: { command: "awake" } });
    await until("awake", async () => (await current()) === "running");
  });
});
