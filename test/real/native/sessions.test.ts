/** A connection of the native protocol outlives its engine: idling, restarts, kills, changes of users. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { emptyData, type NativeClient, queryPacket } from "../../../harness/native/client.ts";
import { runningService, until } from "../../../harness/serve.ts";
import { clientPackets } from "../../../src/endpoint/native/hello.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

let stage: NativeStage;

beforeAll(async () => {
  // A minute of idling takes 300 ms.
  stage = await nativeStage({ MILLRACE_IDLE_MINUTE_MS: "300" }, { idleTimeoutMinutes: 5 });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const idle = () => until("the service is idle", async () => (await stage.state()) === "idle");
const enginePid = () => {
  const file = join(stage.served.dataDir, "services", stage.service.id, "engine.pid");
  return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
};

async function withSession(): Promise<NativeClient> {
  const client = await stage.connect();
  await client.query("CREATE DATABASE IF NOT EXISTS kept");
  await client.query("USE kept");
  await client.query("SET max_threads = 3, param_p = 'x'");
  return client;
}

const expectSession = async (client: NativeClient) =>
  expect(await client.query("SELECT currentDatabase(), getSetting('max_threads'), {p:String}")).toEqual([
    ["kept", "3", "x"],
  ]);

test("an idle connection lets the service idle, and its next query wakes it with the same session", async () => {
  const client = await withSession();
  for (let round = 0; round < 2; round += 1) {
    await idle();
    await expectSession(client);
  }
  client.close();
});

test("pings of a connection that rests are answered and wake nothing, and its next query does", async () => {
  const client = await withSession();
  await client.ping();
  await idle();
  await client.ping();
  client.send(Buffer.alloc(1_000, clientPackets.ping));
  for (let left = 1_000; left > 0; left -= 1) expect(await client.read((reader) => reader.varUint())).toBe(4);
  expect(await stage.state()).toBe("idle");
  client.send(Buffer.from([clientPackets.ping]), queryPacket("SELECT 1", client.revision), emptyData);
  expect(await client.read((reader) => reader.varUint())).toBe(4);
  expect((await client.answer()).exception).toBeUndefined();
  await expectSession(client);
  client.close();
});

test("a login at an idle service wakes nothing, and the first query does", async () => {
  await idle();
  await expect(stage.connect({ password: "wrong" })).rejects.toMatchObject({ code: 516 });
  const client = await stage.connect({ database: "kept" });
  expect(await stage.state()).toBe("idle");
  expect(await client.query("SELECT currentDatabase()")).toEqual([["kept"]]);
  client.close();
});

test("a session does not grow without end: it passes between processes, whose messages have a bound", async () => {
  const client = await stage.connect();
  for (let round = 0; round < 3; round += 1) {
    const set = client.query(`SET param_p${round} = '${"x".repeat(250_000)}'`);
    await expect(set).rejects.toThrow("can have 65536 characters");
  }
  await client.query(`SET param_p = '${"x".repeat(60_000)}'`);
  expect(await client.query("SELECT length({p:String})")).toEqual([["60000"]]);
  client.close();
});

test("a database that does not exist is told at the first query", async () => {
  const client = await stage.connect({ database: "nowhere" });
  await expect(client.query("SELECT 1")).rejects.toMatchObject({ code: 81 });
  client.close();
});

test("a temporary table keeps its service awake, until it is stopped, which its client is told", async () => {
  const { api } = stage.served;
  const client = await stage.connect();
  await client.query("CREATE TEMPORARY TABLE x (s String)");
  // It begins to be unused later than this one.
  const other = await runningService(stage.served, { name: "other", idleTimeoutMinutes: 5 });
  const stateOf = async () => (await api.getService({ params: other.params })).state;
  await until("the other service is idle", async () => (await stateOf()) === "idle");
  expect(await client.query("SELECT count() FROM x")).toEqual([["0"]]);
  const gone = await stage.connect();
  await gone.query("CREATE TEMPORARY TABLE x (s String)");
  gone.close();
  const { params } = stage.service;
  await api.updateServiceState({ params, body: { command: "stop" } });
  expect((await client.answer()).exception?.message).toMatch(/stopped/);
  await client.ended();
  await until("it is stopped", async () => (await stage.state()) === "stopped");
  await api.updateServiceState({ params, body: { command: "start" } });
  await until("it runs", async () => (await stage.state()) === "running");
  // Nothing is left that would hold it awake.
  await idle();
});

test("a query that runs keeps the service awake", async () => {
  const client = await stage.connect();
  const sql = "SELECT count() FROM numbers(30) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1";
  expect(await client.query(sql)).toEqual([["30"]]);
  expect(await stage.state()).toBe("running");
  client.close();
});

test("when the engine is killed, resting connections continue and the others are closed", async () => {
  const resting = await withSession();
  const working = await stage.connect();
  working.send(queryPacket("SELECT sleep(3)", working.revision), emptyData);
  await until(
    "it runs",
    async () => (await stage.http("SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleep(3)%'")) === "1",
  );
  process.kill(enginePid(), "SIGKILL");
  await working.ended();
  await expectSession(resting);
  resting.close();
});

test("when the service is stopped, resting connections get a sentence and can be used again after the start", async () => {
  const { api } = stage.served;
  const { params } = stage.service;
  const client = await withSession();
  const other = await withSession();
  await api.updateServiceState({ params, body: { command: "stop" } });
  await until("it is stopped", async () => (await stage.state()) === "stopped");
  await other.ping();
  await expect(other.query("SELECT 1")).rejects.toThrow(/stopped/);
  await api.updateServiceState({ params, body: { command: "start" } });
  await until("it runs", async () => (await stage.state()) === "running");
  await expectSession(client);
  client.close();
});

test("a new password ends the sessions of the old one", async () => {
  const client = await stage.connect();
  const newPasswordHash = createHash("sha256").update("another").digest("base64");
  const { params } = stage.service;
  await stage.served.api.updateServicePassword({ params, body: { newPasswordHash } });
  await expect(client.query("SELECT 1")).rejects.toMatchObject({ code: 516 });
  await client.ended();
  const again = await stage.connect({ password: "another" });
  expect(await again.query("SELECT 1")).toEqual([["1"]]);
  again.close();
});
