/** What clients of the native protocol may rely on, at every revision that they may have. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyData, NativeClient, newest, queryPacket, stringData } from "../../../harness/native/client.ts";
import { since } from "../../../src/endpoint/native/hello.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

let stage: NativeStage;

beforeAll(async () => {
  stage = await nativeStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe.each([54_429, 54_441, 54_448, 54_453, 54_460, 54_468, 54_470, newest, 54_488])("revision %i", (revision) => {
  test("queries, inserts, errors and settings", async () => {
    const client = await stage.connect({ revision });
    const table = `t${revision}`;
    await client.query(`CREATE TABLE ${table} (s String) ENGINE = MergeTree ORDER BY s`);
    for (const values of [["a", "b"], ["c"]]) {
      expect(await client.insert(`INSERT INTO ${table} VALUES`, values)).toEqual({ rows: [], exception: undefined });
    }
    await client.query(`INSERT INTO ${table} VALUES ('d'), (concat('e', 'f'))`);
    await client.query(`INSERT INTO ${table} SELECT 'g'`);
    expect(await client.query(`SELECT s FROM ${table} ORDER BY s`)).toEqual([
      ["a"],
      ["b"],
      ["c"],
      ["d"],
      ["ef"],
      ["g"],
    ]);
    await expect(client.query("SELECT * FROM nowhere")).rejects.toMatchObject({ code: 60 });
    expect((await client.insert("INSERT INTO nowhere VALUES", [])).exception).toMatchObject({ code: 60 });
    await expect(client.query("SELECT * FROM url('http://127.0.0.1/', CSV)")).rejects.toMatchObject({ code: 497 });
    await client.query("SET max_threads = 3");
    expect(await client.query("SELECT getSetting('max_threads')")).toEqual([["3"]]);
    if (revision >= since.parameters) {
      await client.query("SET param_p = 'it''s'");
      expect(await client.query("SELECT {p:String}")).toEqual([["it's"]]);
    }
    expect(await client.query("SELECT getSetting('max_threads')", { settings: [["max_threads", "2"]] })).toEqual([
      ["2"],
    ]);
    await client.query(`CREATE DATABASE IF NOT EXISTS d${revision}`);
    await client.query(`USE d${revision}`);
    expect(await client.query("SELECT currentDatabase(), currentUser()")).toEqual([[`d${revision}`, "default"]]);
    await client.ping();
    client.close();
  });
});

test("parameters keep every character", async () => {
  const client = await stage.connect();
  for (const value of ["", "a'b", "a\\b", "\n\t\0", "ü€𝄞", "\\'", "'; SELECT 1"]) {
    const sql = "SELECT hex({p:String})";
    // A parameter is escaped as in TSV, over HTTP too.
    const escaped = value
      .replaceAll("\\", "\\\\")
      .replaceAll("\n", "\\n")
      .replaceAll("\t", "\\t")
      .replaceAll("\0", "\\0");
    const quoted = `'${escaped.replace(/[\\']/g, "\\$&")}'`;
    expect(await client.query(sql, { parameters: [["p", quoted]] })).toEqual([
      [Buffer.from(value).toString("hex").toUpperCase()],
    ]);
  }
  client.close();
});

test("external tables", async () => {
  const client = await stage.connect();
  const data = stringData(client.revision, ["x", "y"], { table: "ext" });
  for (let i = 0; i < 3; i += 1) {
    client.send(queryPacket("SELECT s FROM ext ORDER BY s", client.revision), data, emptyData);
    expect(await client.answer()).toEqual({ rows: [["x"], ["y"]], exception: undefined });
  }
  client.close();
});

test("a cancelled query ends, and the connection goes on", async () => {
  const client = await stage.connect();
  const id = `cancel-${Date.now()}`;
  client.send(
    queryPacket("SELECT sleepEachRow(0.1) FROM numbers(1000) SETTINGS max_block_size = 1", client.revision, { id }),
    emptyData,
  );
  const running = async () => await stage.http(`SELECT count() FROM system.processes WHERE query_id = '${id}'`);
  await expect.poll(running).toBe("1");
  client.send(Buffer.from([3]));
  await client.answer();
  await expect.poll(running).toBe("0");
  expect(await client.query("SELECT 1")).toEqual([["1"]]);
  client.close();
});

test("a client that goes away takes its query with it", async () => {
  const client = await stage.connect();
  const id = `gone-${Date.now()}`;
  client.send(
    queryPacket("SELECT sleepEachRow(0.1) FROM numbers(1000) SETTINGS max_block_size = 1", client.revision, { id }),
    emptyData,
  );
  const running = async () => await stage.http(`SELECT count() FROM system.processes WHERE query_id = '${id}'`);
  await expect.poll(running).toBe("1");
  client.reset();
  await expect.poll(running, { timeout: 10_000 }).toBe("0");
});

test("a wrong password and an unknown user are refused as over HTTP", async () => {
  for (const over of [{ password: "wrong" }, { user: "nobody" }]) {
    const refused = stage.connect(over);
    await expect(refused).rejects.toMatchObject({ code: 516 });
    await expect(refused).rejects.toThrow("password is incorrect, or there is no user with such name");
  }
});

test("what the engine and its users say of a query is the client's", async () => {
  const client = await stage.connect();
  const sql = "SELECT user, toString(address), client_name FROM system.processes WHERE query_id = queryID()";
  expect(await client.query(sql)).toEqual([["default", "::ffff:127.0.0.1", "test"]]);
  expect(await client.query("SELECT count() FROM system.clusters")).toEqual([["0"]]);
  client.close();
});

test("temporary tables and SET ROLE are refused with a sentence", async () => {
  const client = await stage.connect();
  for (const sql of ["CREATE TEMPORARY TABLE x (a Int8)", "SET ROLE NONE"]) {
    await expect(client.query(sql)).rejects.toThrow(/not available over the native protocol/);
  }
  expect(await client.query("SELECT 1")).toEqual([["1"]]);
  client.close();
});

test("HTTP at this port is told so", async () => {
  const client = await NativeClient.dial({ port: stage.port });
  client.send(Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const text = await client.read((reader) => reader.bytes(20).toString());
  expect(text).toBe("HTTP/1.0 400 Bad Req");
  await client.ended();
});

test("settings of the connection are left out, unknown ones only if they are unimportant", async () => {
  const client = await stage.connect();
  const settings = (name: string, value: string, flags = 0) => ({ settings: [[name, value, flags] as const] });
  for (const name of ["idle_connection_timeout", "receive_timeout", "sleep_in_send_data_ms", "setting_of_tomorrow"]) {
    expect(await client.query("SELECT 1", settings(name, "7"))).toEqual([["1"]]);
  }
  await expect(client.query("SELECT 1", settings("setting_of_tomorrow", "1", 1))).rejects.toMatchObject({ code: 115 });
  await expect(client.query("SELECT 1", settings("SQL_mine", "'1'", 2))).rejects.toMatchObject({ code: 115 });
  await expect(client.query("SELECT 1", settings("dialect", "prql"))).rejects.toMatchObject({ code: 452 });
  client.close();
});
