/** The ClickHouse HTTP interface as a client sees it, through gateway and host, with past bugs as regressions. */
import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkedBlocks, compressBlock } from "../../../harness/engine/compressed-blocks.ts";
import { Stage } from "../../../harness/engine/stage.ts";
import { until } from "../../../harness/serve.ts";
import { CompressedBlocks } from "../../../src/engine/http/compressed-blocks.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

const count = () => stage.ok("SELECT count() FROM t");
const code = (text: string) => Number(/^Code: (\d+)/.exec(text)?.[1]);

beforeEach(async () => {
  await stage.ok("CREATE OR REPLACE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
});

describe("queries", () => {
  test.each(["PUT", "PATCH", "DELETE", "PROPFIND"])("a request by %s without a body is answered", async (method) => {
    expect(await stage.ok("", { query: "SELECT 1" }, { method, body: null })).toBe("1");
  });

  test.each([
    ["a format in the statement", "SELECT 1 AS x FORMAT JSONEachRow", {}, '{"x":1}'],
    ["a format before settings", "SELECT 1 AS x FORMAT CSV SETTINGS max_threads = 1", {}, "1"],
    ["the default format", "SELECT 'a' AS x", { default_format: "JSONEachRow" }, '{"x":"a"}'],
    ["a column called format", "SELECT format FROM (SELECT 1 AS format) ORDER BY format ASC", {}, "1"],
    ["a trailing semicolon and comment", "SELECT 1; -- done", {}, "1"],
    ["parentheses and union", "(SELECT 1) UNION ALL (SELECT 1)", {}, "1\n1"],
    ["settings", "SELECT getSetting('max_threads')", { max_threads: "3" }, "3"],
    ["a database", "SELECT currentDatabase()", { database: "system" }, "system"],
    [
      "parameters",
      "SELECT {a:Array(String)}, {n:UInt8} + 1",
      { param_a: "['x\\ty','z']", param_n: "2" },
      "['x\\ty','z']\t3",
    ],
    ["an escaped parameter", "SELECT length({a:String})", { param_a: "a\\tb\\'" }, "4"],
    ["a query in URL and body", "1 + 1", { query: "SELECT" }, "2"],
    ["SHOW", "SHOW TABLES", {}, "t"],
    ["EXISTS", "EXISTS TABLE t FORMAT TSV", {}, "1"],
    ["EXPLAIN", "EXPLAIN AST SELECT 1 FORMAT CSV SETTINGS max_threads = 1", {}, expect.stringContaining("SelectQuery")],
    ["wait_end_of_query", "SELECT sum(number) FROM numbers(10)", { wait_end_of_query: "1" }, "45"],
  ])("%s", async (_, sql, params, result) => {
    expect(await stage.ok(sql, params as Record<string, string>)).toEqual(result);
  });

  test("headers and summary", async () => {
    const { headers } = await stage.query("SELECT * FROM numbers(1000)", { query_id: "my id" });
    expect(headers.get("x-clickhouse-query-id")).toBe("my id");
    expect(headers.get("x-clickhouse-format")).toBe("TabSeparated");
    expect(headers.get("x-clickhouse-timezone")).not.toBe("");
    expect(JSON.parse(headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ read_rows: "1000" });
    const insert = await stage.query("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    expect(JSON.parse(insert.headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ written_rows: "2" });
    const copied = await stage.query("INSERT INTO t SELECT number, '' FROM numbers(7)");
    expect(JSON.parse(copied.headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ written_rows: "7" });
  });

  test.each([
    ["SELECT * FROM nothing", {}, 404, 60],
    ["SELEC 1", {}, 400, 62],
    ["SELECT 1", { bogus: "1" }, 404, 115],
    ["SELECT 1", { database: "nowhere" }, 404, 81],
    ["SELECT {x:UInt8}", {}, 400, 456],
    ["SELECT throwIf(1)", {}, 500, 395],
  ])("error of %s", async (sql, params, status, expected) => {
    const answer = await stage.query(sql, params as Record<string, string>);
    expect(code(answer.text)).toBe(expected);
    if (expected !== 456) expect(answer.status).toBe(status);
    expect(answer.headers.get("x-clickhouse-exception-code")).toBe(String(expected));
    expect(answer.text).toMatch(/\([A-Z_]+\) \(version \d/);
    expect(answer.text).not.toContain("/run/");
  });

  test("wait_end_of_query: a late error has its status, a long answer its counters", async () => {
    const late = "SELECT number, throwIf(number = 2000000) FROM numbers(3000000) FORMAT CSV";
    expect((await stage.query(late, { wait_end_of_query: "1" })).status).toBe(500);
    const long = await stage.query("SELECT number FROM numbers(1000000)", { wait_end_of_query: "1" });
    expect(long.text.length).toBe(6_888_890);
    expect(JSON.parse(long.headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ read_rows: "1000000" });
  });

  test("an error after the first byte ends in an exception block and a broken connection", async () => {
    const sql = "SELECT number, throwIf(number = 2000000) FROM numbers(3000000) FORMAT CSV";
    const { text, tag, complete } = await new Promise<{ text: string; tag: unknown; complete: boolean }>((resolve) => {
      const path = `${stage.url}/?query=${encodeURIComponent(sql)}`;
      get(path, { headers: { "X-ClickHouse-Key": "secret" } }, (answer) => {
        let text = "";
        answer.on("data", (chunk: Buffer) => {
          text = (text + chunk.toString()).slice(-2000);
        });
        answer.on("error", () => {});
        const tag = answer.headers["x-clickhouse-exception-tag"];
        answer.on("close", () => resolve({ text, tag, complete: answer.complete }));
      });
    });
    expect(complete).toBe(false);
    expect(text).toContain(`__exception__\r\n${tag}\r\nCode: 395.`);
  });

  test("GET cannot write, and a read-only user cannot either", async () => {
    const headers = { "X-ClickHouse-Key": "secret" };
    const get = await fetch(`${stage.url}/?query=${encodeURIComponent("DROP TABLE t")}`, { headers });
    expect(code(await get.text())).toBe(164);
    const reader = { headers: { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader" } };
    for (const sql of [
      "DROP TABLE t",
      "INSERT INTO t VALUES (1, '')",
      "SET readonly = 0",
      "CREATE TABLE x (a Int) ORDER BY a",
    ]) {
      // No grant, or read-only mode.
      expect([164, 497]).toContain(code((await stage.query(sql, {}, reader)).text));
    }
    expect(await stage.ok("SELECT count() FROM t SETTINGS max_threads = 1", { max_block_size: "10" }, reader)).toBe(
      "0",
    );
  });

  test("a query can be seen and killed by the id that its client gave", async () => {
    // An answer that has begun would have its rows before the error.
    const slow = stage.query("SELECT sum(sleepEachRow(0.1)) FROM numbers(300)", {
      query_id: "slow one",
      max_block_size: "1",
    });
    await expect.poll(() => stage.ok("SELECT count() FROM system.processes WHERE query_id = 'slow one'")).toBe("1");
    await stage.ok("KILL QUERY WHERE query_id = 'slow one'");
    expect(code((await slow).text)).toBe(394);
    expect(await stage.ok("SELECT 1")).toBe("1");
  });

  test("replace_running_query ends the caller's own query with that id, and nobody else's", async () => {
    const slow = "SELECT sleepEachRow(0.5) FROM numbers(1000) SETTINGS max_block_size = 1";
    const first = stage.query(slow, { query_id: "twice" });
    const running = "SELECT count() FROM system.processes WHERE query_id = 'twice'";
    await until("it runs", async () => (await stage.ok(running)) === "1");
    expect((await stage.query("SELECT 1", { query_id: "twice" })).text).toContain("already running");
    const reader = { headers: { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader" } };
    const replace = { query_id: "twice", replace_running_query: "1" };
    expect((await stage.query("SELECT 1", replace, reader)).text).toContain("already running");
    expect((await stage.query("SELECT 2", replace)).text).toBe("2\n");
    expect((await first).text).toMatch(/QUERY_WAS_CANCELLED|took the place/);
  });

  test("a client that goes away takes its query with it", async () => {
    const gone = new AbortController();
    const sql = "SELECT count() FROM numbers(1e12) WHERE NOT ignore(sipHash64(number))";
    const query = stage.query(sql, { query_id: "abandoned" }, { signal: gone.signal }).catch(() => "gone");
    const running = () => stage.ok("SELECT count() FROM system.processes WHERE query_id = 'abandoned'");
    await expect.poll(running).toBe("1");
    gone.abort();
    expect(await query).toBe("gone");
    await expect.poll(running).toBe("0");
  });
});

describe("inserts", () => {
  test("a blank line in the data is data, and never SQL", async () => {
    const payload = "1,a\n\nDROP TABLE t;\n";
    const answer = await stage.query(payload, { query: "INSERT INTO t FORMAT CSV" });
    expect(answer.status).toBe(400);
    expect(await count()).toBe("0");
    await stage.ok('{"a":1,"s":"x"}\n\n\n{"a":2,"s":"y"}\n', { query: "INSERT INTO t FORMAT JSONEachRow" });
    expect(await count()).toBe("2");
    const crafted = "INSERT INTO t FORMAT TSV\n1\ta\n\nINSERT INTO t SELECT number, '' FROM numbers(100)\n";
    expect((await stage.query(crafted)).status).toBe(400);
    expect(await count()).toBe("2");
  });

  test("binary data with two line feeds in it arrives whole", async () => {
    const rows = 3_000;
    const blob = Buffer.concat(
      Array.from({ length: rows }, (_, i) => {
        const row = Buffer.alloc(12, 0x0a);
        row.writeUInt32LE(i, 0);
        row.writeUInt32LE(0, 4);
        row[8] = 3;
        return row;
      }),
    );
    await stage.ok(blob, { query: "INSERT INTO t FORMAT RowBinary" });
    expect(await stage.ok("SELECT count(), countIf(s = '\\n\\n\\n') FROM t")).toBe(`${rows}\t${rows}`);
  });

  test("VALUES with expressions and parameters, data partly in the URL, settings, INSERT SELECT", async () => {
    await stage.ok("INSERT INTO t VALUES (1 + 1, concat('a', 'b')), ({n:UInt8}, 'it''s;\n\nfine')", { param_n: "7" });
    await stage.ok("(3, 'c')", { query: "INSERT INTO t (a, s) VALUES (4, 'd')," });
    await stage.ok("INSERT INTO t SETTINGS max_insert_block_size = 10 FORMAT CSV 5,e");
    await stage.ok("INSERT INTO t SELECT 6, 'f'");
    expect(await stage.ok("SELECT groupArray((a, s)) FROM (SELECT * FROM t ORDER BY a)")).toBe(
      "[(2,'ab'),(3,'c'),(4,'d'),(5,'e'),(6,'f'),(7,'it\\'s;\\n\\nfine')]",
    );
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    // Its default takes so long that the server ends the idle connection meanwhile.
    ["br", (plain: Buffer) => brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
    ["zstd", zstdCompressSync],
  ])("a %s body", async (encoding, pack) => {
    const plain = Buffer.from(Array.from({ length: 200_000 }, (_, i) => `${i}\trow ${i}\n`).join(""));
    const packed = pack(plain);
    const init = { headers: { "Content-Encoding": encoding } };
    await stage.ok(packed, { query: "INSERT INTO t FORMAT TSV" }, init);
    expect(await count()).toBe("200000");
  });

  test("a body that is damaged in the middle is answered with the reason, on a connection that goes on", async () => {
    const plain = Buffer.from(Array.from({ length: 400_000 }, (_, i) => `${i}\t${Math.sin(i)}\n`).join(""));
    const packed = gzipSync(plain, { level: 1 });
    packed.fill(0xff, 1_000_000, 1_001_000);
    const init = { headers: { "Content-Encoding": "gzip" } };
    // Whatever the damage becomes is a line: only the sum at the end shows it.
    const query = "INSERT INTO t (s) FORMAT LineAsString";
    const answer = await stage.query(packed, { query }, init);
    expect([answer.status, answer.text]).toEqual([500, expect.stringMatching(/inflate failed/)]);
    expect(await count()).toBe("0");
  });

  test("INSERT SELECT FROM input(...) converts the data of the request", async () => {
    await stage.query("CREATE TABLE conv (a Int64, tags Array(String)) ENGINE = MergeTree ORDER BY a");
    const head =
      "INSERT INTO conv SELECT a * 2, splitByChar('|', t) FROM input('a Int64, t String') SETTINGS format_csv_delimiter = ';' FORMAT CSV\n";
    expect((await stage.query(`${head}1;x|y\n2;"z;\n|w"\n`)).status).toBe(200);
    const rows = Array.from({ length: 400_000 }, (_, i) => `${i + 10};p|q-${i}`).join("\n");
    const long = await stage.query(head + rows);
    expect(JSON.parse(long.headers.get("x-clickhouse-summary") ?? "{}").written_rows).toBe("400000");
    expect((await stage.query("SELECT count(), sum(length(tags)), sum(a) FROM conv")).text).toBe(
      `400002\t800004\t${6 + 2 * (400_000 * 10 + (400_000 * 399_999) / 2)}\n`,
    );
    expect((await stage.query("SELECT tags FROM conv WHERE a <= 4 ORDER BY a")).text).toBe(
      "['x','y']\n['z;\\n','w']\n",
    );
    await stage.query("DROP TABLE conv");
  });
  test("input(...) inserts all or nothing, and keeps its name and place in a session", async () => {
    await stage.query("CREATE TABLE conv2 (a UInt8) ENGINE = MergeTree ORDER BY a");
    const insert = "INSERT INTO conv2 SELECT toUInt8(s) FROM input('s String') FORMAT TSV\n";
    for (const session of [{}, { session_id: "conv" }] as Record<string, string>[]) {
      expect((await stage.query(`${insert}1\nbad\n`, session)).text).toContain("Cannot parse");
      expect((await stage.query(`${insert}1\n`, session)).status).toBe(200);
    }
    expect((await stage.query("SELECT groupArray(a) FROM conv2")).text).toBe("[1,1]\n");
    const computed = "INSERT INTO conv2 SELECT a FROM input('a UInt8 DEFAULT file(1)') FORMAT TSV\n1";
    expect(code((await stage.query(computed)).text)).toBe(497);
    const broken = "INSERT INTO conv2 SELECT a FROM input('a UInt8) ENGINE = Memory; SELECT (1') FORMAT TSV\n1";
    expect((await stage.query(broken)).status).not.toBe(200);
    const name = "INSERT INTO conv2 SELECT a FROM input({s:String}) FORMAT TSV\n1";
    expect((await stage.query(name, { param_s: "a UInt8" })).text).toContain("literal");
    await stage.query("DROP TABLE conv2");
  });
  test("checksums are the engine's own: a column file that it wrote can be read", async () => {
    await stage.ok("INSERT INTO t SELECT number, toString(number) FROM numbers(100000)");
    const path = await stage.ok("SELECT path FROM system.parts WHERE table = 't' AND active");
    const file = readdirSync(path).find((name) => name === "data.bin" || name === "a.bin") as string;
    const packed = readFileSync(join(path, file));
    expect(checkedBlocks(packed)).toBeGreaterThan(0);
    const plain = await buffer(Readable.from([packed]).pipe(new CompressedBlocks()));
    expect(plain.length).toBeGreaterThanOrEqual(800_000);
  });

  test("native blocks both ways, with checksums", async () => {
    const block = compressBlock(Buffer.from("1,a\n2,b\n"));
    await stage.ok(block, { query: "INSERT INTO t FORMAT CSV", decompress: "1" });
    expect(await count()).toBe("2");
    const broken = Buffer.from(block);
    broken[30] = (broken[30] as number) ^ 1;
    const answer = await stage.query(broken, { query: "INSERT INTO t FORMAT CSV", decompress: "1" });
    // The engine checks for a flipped bit, and reports it.
    expect(answer.text).toContain("Checksum doesn't match");
    const cut = await stage.query(block.subarray(0, 20), { query: "INSERT INTO t FORMAT CSV", decompress: "1" });
    expect(code(cut.text)).toBe(33);
    expect(await count()).toBe("2");
  });

  test.each([
    ["a short one", 1_000],
    ["one that was already streaming", 600_000],
  ])("an upload that breaks off inserts nothing: %s", async (_, rows) => {
    const { port, hostname } = new URL(stage.url);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const socket = connect(Number(port), hostname);
      const data = Buffer.from(Array.from({ length: rows }, (_, i) => `${i},row\n`).join(""));
      socket.write(
        `POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Key: secret\r\nContent-Length: ${data.length + 10}\r\n\r\n`,
      );
      await new Promise((resolve) => socket.write(data, resolve));
      await delay(50 * attempt);
      socket.destroy();
    }
    await expect.poll(() => stage.ok("SELECT count() FROM system.processes WHERE query_kind = 'Insert'")).toBe("0");
    expect(await count()).toBe("0");
  });

  test("a failing insert answers while the client is still sending, and frees its place", async () => {
    const bad = Buffer.concat([Buffer.from("x,y\n"), Buffer.alloc(20_000_000, "1,a\n")]);
    for (let i = 0; i < 3; i += 1) {
      expect(code((await stage.query(bad, { query: "INSERT INTO t FORMAT CSV" })).text)).toBe(27);
    }
    expect(await count()).toBe("0");
  });
});

describe("sessions and concurrency", () => {
  test("temporary tables and SET survive, settings of one request do not", async () => {
    const session_id = "s1";
    await stage.ok("CREATE TEMPORARY TABLE tt (a Int)", { session_id });
    await stage.ok("INSERT INTO tt VALUES (1), (1 + 1)", { session_id });
    await stage.ok("SET max_threads = 3", { session_id });
    expect(await stage.ok("SELECT count() FROM tt", { session_id })).toBe("2");
    expect(await stage.ok("SELECT getSetting('max_threads')", { session_id, max_threads: "1" })).toBe("1");
    expect(await stage.ok("SELECT getSetting('max_threads')", { session_id })).toBe("3");
    expect(code((await stage.query("SELECT count() FROM tt")).text)).toBe(60);
    expect(code((await stage.query("SELECT 1", { session_id: "other", session_check: "1" })).text)).toBe(372);
    const slow = stage.query("SELECT sleep(1)", { session_id, query_id: "locker" });
    await expect.poll(() => stage.ok("SELECT count() FROM system.processes WHERE query_id = 'locker'")).toBe("1");
    expect(code((await stage.query("SELECT 1", { session_id })).text)).toBe(373);
    await slow;
  });

  test("a session ends after its timeout", async () => {
    const session = { session_id: "short", session_timeout: "1" };
    await stage.ok("CREATE TEMPORARY TABLE tt (a Int)", session);
    const ended = async () => code((await stage.query("SELECT 1", { session_id: "short", session_check: "1" })).text);
    // Every query that finds the session prolongs it, so the next check comes after its timeout.
    await expect.poll(ended, { interval: 2_500 }).toBe(372);
  });

  test("rows of a failed query never reach the next one, also under load", async () => {
    const failing = "SELECT concat('leak', toString(number)), throwIf(number = 50000) FROM numbers(100000)";
    const rounds = Array.from({ length: 60 }, async (_, i) => {
      const params: Record<string, string> = i % 3 === 0 ? { session_id: `load-${i}` } : {};
      expect((await stage.query(failing, params)).text).toMatch(/^Code: 395/);
      expect(await stage.ok(`SELECT 'mine ${i}'`, params)).toBe(`mine ${i}`);
      expect(await stage.ok("SHOW TABLES", params)).toBe("t");
    });
    await Promise.all(rounds);
  });
});
