/** What clients of the native protocol may rely on, at every revision that they may have. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyData, NativeClient, newest, queryPacket, stringData } from "../../../harness/native/client.ts";
import { until } from "../../../harness/serve.ts";
import { since } from "../../../src/endpoint/native/hello.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

let stage: NativeStage;

beforeAll(async () => {
  stage = await nativeStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe.each([54_213, 54_380, 54_412, 54_429, 54_441, 54_448, 54_453, 54_460, 54_468, 54_470, newest, 54_488])(
  "revision %i",
  (revision) => {
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
      if (revision >= since.settingTexts) {
        const settings = [["max_threads", "2"]] as const;
        expect(await client.query("SELECT getSetting('max_threads')", { settings })).toEqual([["2"]]);
      }
      await client.query(`CREATE DATABASE IF NOT EXISTS d${revision}`);
      await client.query(`USE d${revision}`);
      // A client before settings in texts gets a session of the engine's own, where nobody can log in as default.
      const user = revision < since.settingTexts ? "millrace-writer" : "default";
      expect(await client.query("SELECT currentDatabase(), currentUser()")).toEqual([[`d${revision}`, user]]);
      await client.ping();
      client.close();
    });
  },
);

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

test("an old client's settings are refused by name, and others types than it knows are not sent", async () => {
  const client = await stage.connect({ revision: 54_213 });
  // The engine would send its defaults, too.
  await client.query(
    "CREATE TABLE old (s LowCardinality(String), d String DEFAULT upper(s)) ENGINE = MergeTree ORDER BY s",
  );
  expect((await client.insert("INSERT INTO old (s) VALUES", ["a"])).exception).toBeUndefined();
  expect(await client.query("SELECT s, d, toTypeName(s) FROM old")).toEqual([["a", "A", "LowCardinality(String)"]]);
  const data = stringData(client.revision, ["x"], { table: "ext" });
  client.send(queryPacket("SELECT s FROM ext", client.revision), data, emptyData);
  expect((await client.answer()).exception?.message).toMatch(/External tables need a client of 2020/);
  client.close();
  const other = await stage.connect({ revision: 54_213 });
  other.send(queryPacket("SELECT 1", other.revision, { settings: [["max_threads", "2"]] }), emptyData);
  expect((await other.answer()).exception?.message).toMatch(/write max_threads into the statement/);
  other.close();
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

test("a client that ends its connection amid the data of an INSERT takes its query with it", async () => {
  const client = await stage.connect();
  await client.query("CREATE TABLE half (s String) ENGINE = MergeTree ORDER BY s");
  const id = `half-${Date.now()}`;
  client.send(queryPacket("INSERT INTO half VALUES", client.revision, { id }), emptyData);
  client.send(stringData(client.revision, ["a"]));
  const running = async () => await stage.http(`SELECT count() FROM system.processes WHERE query_id = '${id}'`);
  await expect.poll(running, { timeout: 10_000 }).toBe("1");
  client.socket.end();
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

test("temporary tables live as long as their connection, with everything else of the session", async () => {
  const client = await stage.connect();
  await client.query("CREATE DATABASE IF NOT EXISTS later");
  await client.query("CREATE TABLE later.plain (s String) ENGINE = MergeTree ORDER BY s");
  await client.query("SET max_threads = 3, param_p = 'it''s'");
  await client.query("CREATE TEMPORARY TABLE x (s String)");
  await client.query("INSERT INTO x VALUES ('a'), (concat('b', 'c'))");
  await client.query("INSERT INTO x SELECT 'd'");
  await client.query("USE later");
  const sql = "SELECT s, currentDatabase(), getSetting('max_threads'), {p:String} FROM x ORDER BY s";
  expect(await client.query(sql)).toEqual(["a", "bc", "d"].map((s) => [s, "later", "3", "it's"]));
  // Data of the client goes past the session.
  expect((await client.insert("INSERT INTO plain VALUES", ["e"])).exception).toBeUndefined();
  expect((await client.insert("INSERT INTO x (s) VALUES", ["e", "f"])).exception).toBeUndefined();
  await expect(client.query("SELECT * FROM nowhere")).rejects.toMatchObject({ code: 60 });
  await expect(client.query("SELECT * FROM url('http://127.0.0.1/', CSV)")).rejects.toMatchObject({ code: 497 });
  await client.ping();
  expect(await client.query("SELECT count() FROM plain")).toEqual([["1"]]);
  expect(await client.query("SELECT count() FROM x")).toEqual([["5"]]);
  const other = await stage.connect();
  await expect(other.query("SELECT * FROM x")).rejects.toMatchObject({ code: 60 });
  client.close();
  other.close();
});

test("a query in a session of the engine is cancelled, and the session goes on", async () => {
  const client = await stage.connect();
  await client.query("CREATE TEMPORARY TABLE x (s String)");
  const id = `session-${Date.now()}`;
  const sql = "SELECT sleepEachRow(0.1) FROM numbers(1000) SETTINGS max_block_size = 1";
  client.send(queryPacket(sql, client.revision, { id }), emptyData);
  const running = async () => await stage.http(`SELECT count() FROM system.processes WHERE query_id = '${id}'`);
  await expect.poll(running).toBe("1");
  client.send(Buffer.from([3]));
  await client.answer();
  expect(await client.query("SELECT count() FROM x")).toEqual([["0"]]);
  client.close();
});

test("SET ROLE changes what a user may do", async () => {
  await stage.http("CREATE TABLE secret (s String) ENGINE = MergeTree ORDER BY s");
  for (const sql of [
    "CREATE USER alice IDENTIFIED BY 'password of alice'",
    "CREATE ROLE looks",
    "GRANT SELECT ON default.secret TO looks",
    "GRANT looks TO alice",
  ]) {
    await until(
      sql,
      async () =>
        await stage.http(sql).then(
          () => true,
          () => false,
        ),
    );
  }
  const client = await until("alice can log in", async () =>
    stage.connect({ user: "alice", password: "password of alice" }).catch(() => undefined),
  );
  const count = async () => await client.query("SELECT count() FROM secret");
  await until(
    "the engine knows alice",
    async () =>
      await count().then(
        () => true,
        () => false,
      ),
  );
  await client.query("SET ROLE NONE");
  await expect(count()).rejects.toMatchObject({ code: 497 });
  await client.query("SET ROLE looks");
  expect(await count()).toEqual([["0"]]);
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

test.each([
  ["max_threads", "many", 27],
  ["join_algorithm", "x", 418],
  ["session_timezone", "Nowhere", 36],
])("the value of %s that the engine cannot read is refused with its reason", async (name, value, code) => {
  const settings = [[name, value] as const];
  for (const text of ["SELECT 1", "INSERT INTO FUNCTION null('s String') SELECT 'a'"]) {
    const client = await stage.connect();
    await expect(client.query(text, { settings })).rejects.toMatchObject({ code });
    client.close();
  }
});

test("large data of one INSERT after another arrives whole, and the connection goes on", async () => {
  const client = await stage.connect();
  await client.query("CREATE TABLE large (s String) ENGINE = MergeTree ORDER BY tuple()");
  const block = stringData(
    client.revision,
    Array.from({ length: 10_000 }, (_, i) => `${i} ${"x".repeat(i % 200)}`),
  );
  const blocks = 32;
  const send = async () => {
    for (let i = 0; i < blocks; i += 1) if (!client.socket.write(block)) await once(client.socket, "drain");
  };
  for (let round = 1; round <= 3; round += 1) {
    const answer = await client.insert("INSERT INTO large VALUES", ["last"], { before: send });
    expect(answer).toEqual({ rows: [], exception: undefined });
    const rows = await client.query("SELECT toString(count()), toString(sum(length(s))) FROM large");
    expect(rows).toEqual([[String(round * (blocks * 10_000 + 1)), String(round * (blocks * 1_043_890 + 4))]]);
  }
  client.close();
});

test("an error amid large data is told, and the engine gets no more of it", async () => {
  const client = await stage.connect();
  await client.query(
    "CREATE TABLE picky (s String, CONSTRAINT c CHECK s != 'bad') ENGINE = MergeTree ORDER BY tuple()",
  );
  const block = stringData(client.revision, ["x".repeat(1_048_576)]);
  const send = async () => {
    for (let i = 0; i < 40; i += 1) client.socket.write(i === 20 ? stringData(client.revision, ["bad"]) : block);
  };
  const answer = await client.insert("INSERT INTO picky VALUES", ["last"], {
    before: send,
    settings: [["min_insert_block_size_rows", "1"]],
  });
  expect(answer.exception).toMatchObject({ code: 469 });
  await client.ended();
});
