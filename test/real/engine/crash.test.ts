/** Failures around the process: kill -9, a dead parent, too many queries, two hosts on one directory. */
import { fork } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";
import { OneConnection } from "../../../harness/network/one-connection.ts";
import { spawnEngineHost } from "../../../src/engine/spawn.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

/** Waits until this many queries of this suite run in the engine. */
const running = async (count: number) => {
  const sql =
    "SELECT count() FROM system.processes WHERE query LIKE '%FROM numbers(1%' AND query NOT LIKE '%processes%'";
  await expect.poll(() => stage.ok(sql)).toBe(String(count));
};

const alive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a head that the engine would refuse does not reach it: it may end when such a client goes away", async () => {
  const agent = (bytes: number) => stage.query("SELECT 1", {}, { headers: { "User-Agent": "u".repeat(bytes) } });
  expect((await agent(131_072)).status).toBe(200);
  expect((await agent(131_073)).text).toMatch(/user-agent.*BAD_ARGUMENTS/);
  // Every character is six in the URL.
  const names = Array.from({ length: 9 }, (_, at) => `param_p${at}`);
  const long = Object.fromEntries(names.map((name) => [name, "ÿ".repeat(20_000)]));
  expect((await stage.query("SELECT 1", long)).text).toMatch(/QUERY_IS_TOO_LARGE/);
});

test.runIf(process.platform === "linux")("no connection of another program is given the port of the front", () => {
  const range = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/).map(Number);
  expect(stage.host.forwardAddress.port).toBeGreaterThan(range[1] as number);
});

test("a host that cannot be recorded is not left running", async () => {
  const pids: number[] = [];
  const onSpawn = (pid: number) => {
    pids.push(pid);
    throw new Error("no space left");
  };
  const [dataDir, runDir] = [join(stage.dir, "unrecorded"), join(stage.dir, "unrecorded-run", "files")];
  const options = { dataDir, runDir, maxMemoryBytes: 2e9, users: [], logLevel: "fatal", onSpawn } as const;
  await expect(spawnEngineHost(options)).rejects.toThrow("no space left");
  await expect.poll(() => pids.map(alive)).toEqual([false]);
});

test("kill -9 in the middle of a query: its connection breaks, and after the restart the rows are there", async () => {
  await stage.ok("CREATE TABLE kept (a UInt64) ENGINE = MergeTree ORDER BY a");
  await stage.ok("INSERT INTO kept SELECT number FROM numbers(1000)");
  const query = stage.query("SELECT sleepEachRow(0.1) FROM numbers(100) SETTINGS max_block_size = 1");
  query.catch(() => {});
  const streaming = fetch(`${stage.url}/?query=SELECT+number+FROM+numbers(1e11)`, {
    headers: { "X-ClickHouse-Key": "secret" },
  }).then((answer) => answer.text());
  streaming.catch(() => {});
  await running(2);
  process.kill(stage.host.pid, "SIGKILL");
  await expect(query).rejects.toThrow();
  await expect(streaming).rejects.toThrow();
  const { statements } = await stage.host.exited;
  // The question who runs may not have ended although its answer is here.
  expect(statements.filter((one) => !one.includes("system.processes")).toSorted()).toEqual([
    "SELECT number FROM numbers(1e11)",
    "SELECT sleepEachRow(0.1) FROM numbers(100) SETTINGS max_block_size = 1",
  ]);
  await stage.restart();
  expect(await stage.ok("SELECT count() FROM kept")).toBe("1000");
});

test("kill -9 between the token of an insert and its part: the repeated insert brings the rows, merged ones stay once", async () => {
  await stage.ok("CREATE DATABASE tokens");
  const window = "SETTINGS non_replicated_deduplication_window = 1000";
  for (const table of ["tokens.t", "tokens_t"]) {
    await stage.ok(`CREATE TABLE ${table} (a UInt64) ENGINE = MergeTree ORDER BY a ${window}`);
    const insert = (token: string) =>
      stage.ok(`INSERT INTO ${table} SELECT number FROM numbers(10) SETTINGS insert_deduplication_token = '${token}'`);
    for (const token of ["one", "two", "three"]) await insert(token);
    await stage.ok(`OPTIMIZE TABLE ${table} FINAL`);
    await stage.ok(`ALTER TABLE ${table} DELETE WHERE a = 9 SETTINGS mutations_sync = 1`);
    await insert("lost");
    const [database, name] = table.includes(".") ? table.split(".") : ["default", table];
    const lost = await stage.ok(
      `SELECT path FROM system.parts WHERE active AND database = '${database}' AND table = '${name}' AND rows = 10`,
    );
    process.kill(stage.host.pid, "SIGKILL");
    await stage.host.exited;
    // The engine names the part after it has written the token.
    rmSync(lost, { recursive: true });
    await stage.restart();
    expect(await stage.ok(`SELECT count() FROM ${table}`)).toBe("27");
    for (const token of ["one", "two", "three", "lost", "lost"]) await insert(token);
    expect(await stage.ok(`SELECT count() FROM ${table}`)).toBe("37");
  }
});

test("kill -9 in the middle of a query that the gateway carries: a clean error", async () => {
  stage.handsOff = false;
  const login = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "secret" };
  const client = new OneConnection(Number(stage.gateway.portOf("s")), login);
  const query = client.send("SELECT sum(sleepEachRow(0.1)) FROM numbers(100) SETTINGS max_block_size = 1");
  await running(1);
  process.kill(stage.host.pid, "SIGKILL");
  const answer = await query;
  expect(answer.status).toBe(503);
  expect(answer.text).toMatch(/^Code: 210\./);
  await stage.host.exited;
  await stage.restart();
  stage.handsOff = true;
});

test("a thousand tiny queries at once are answered", async () => {
  const all = Array.from({ length: 1_000 }, (_, i) => stage.ok(`SELECT ${i}`));
  expect(await Promise.all(all)).toEqual(Array.from({ length: 1_000 }, (_, i) => String(i)));
});

test("the host ends when its parent dies", async () => {
  const parent = fork(fileURLToPath(new URL("./parent.ts", import.meta.url)), [join(stage.dir, "orphan")]);
  const pid = await new Promise<number>((resolve) => parent.once("message", (message) => resolve(message as number)));
  expect(alive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await expect.poll(() => alive(pid)).toBe(false);
});

test("a second host on the same directory is refused", async () => {
  const options = {
    dataDir: join(stage.dir, "data"),
    runDir: join(stage.dir, "second", "files"),
    maxMemoryBytes: 1e9,
    logLevel: "fatal",
  };
  await expect(spawnEngineHost(options)).rejects.toThrow(/still has the data directory open/);
  expect(await stage.ok("SELECT 1")).toBe("1");
});
