/**
 * What clients of a ClickHouse server rely on, one test for each way in which this endpoint has differed from one.
 * docs/gateway.md lists the remaining differences.
 */
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";
import { until } from "../../../harness/serve.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
  await stage.ok("CREATE TABLE s (s String) ENGINE = MergeTree ORDER BY s");
});
afterAll(async () => await stage.close());

const reader = { headers: { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader" } };
const summary = (headers: Headers) => JSON.parse(headers.get("x-clickhouse-summary") ?? "{}") as Record<string, string>;
const only = async () => {
  const text = await stage.ok("SELECT groupArray(s) FROM (SELECT s FROM s ORDER BY s)");
  await stage.ok("TRUNCATE TABLE s SYNC");
  return text;
};

describe("results", () => {
  test("a format that refuses the result answers with its error, and holds no place", async () => {
    const refused = Array.from({ length: 64 }, () => stage.query("SELECT 1 AS a FORMAT GeoJSON"));
    for (const { text } of await Promise.all(refused)) expect(text).toContain("BAD_ARGUMENTS");
    expect(await stage.ok("SELECT 1")).toBe("1");
    expect(await stage.ok("SELECT count() FROM system.processes")).toBe("1");
  });

  test("Native blocks of a newer protocol version name the time zone", async () => {
    const sql = "SELECT toDateTime(0, 'Asia/Tokyo') AS t";
    const params = { client_protocol_version: "54465", default_format: "Native" };
    expect((await stage.query(sql, params)).text).toContain("DateTime('Asia/Tokyo')");
  });

  test("the summary counts what was read and what came out", async () => {
    const sql = "SELECT sum(number) FROM numbers(1000000)";
    expect(summary((await stage.query(sql)).headers)).toMatchObject({ read_rows: "1000000" });
    const late = await stage.query(sql, { wait_end_of_query: "1" });
    expect(summary(late.headers)).toMatchObject({ read_rows: "1000000", result_rows: "1" });
  });

  test("a slow result comes block by block", async () => {
    const params = new URLSearchParams({ max_block_size: "1", buffer_size: "0" });
    const first = await new Promise<string>((resolve, reject) => {
      const headers = { "X-ClickHouse-Key": "secret" };
      const outgoing = request(`${stage.url}/?${params}`, { method: "POST", headers }, (incoming) => {
        incoming.once("data", (chunk: Buffer) => {
          resolve(chunk.toString());
          incoming.destroy();
        });
      });
      outgoing.on("error", reject);
      outgoing.end("SELECT number, sleepEachRow(0.5) FROM numbers(600) FORMAT JSONEachRow");
    });
    expect(first).toContain('"number":0');
    expect(first).not.toContain('"number":599');
  });

  test("a query that runs for a while reports progress in the headers", async () => {
    const params = { send_progress_in_http_headers: "1", http_headers_progress_interval_ms: "50", max_block_size: "1" };
    const { headers } = await stage.query("SELECT sum(sleepEachRow(0.2)) FROM numbers(5)", params);
    expect(headers.get("x-clickhouse-progress")).toContain("read_rows");
  });

  test("an error comes in the form that the client asked for", async () => {
    const json = await stage.query("SELECT throwIf(1) FORMAT JSON", { http_write_exception_in_output_format: "1" });
    expect(JSON.parse(json.text)).toMatchObject({ exception: expect.stringContaining("Code: 395") });
    const packed = await stage.query(
      "SELECT nope",
      { enable_http_compression: "1" },
      { headers: { "Accept-Encoding": "gzip" } },
    );
    expect([packed.headers.get("content-encoding"), packed.text]).toEqual([
      "gzip",
      expect.stringContaining("Code: 47"),
    ]);
  });

  test("a statement without a result names no format", async () => {
    const { headers } = await stage.query("DROP TABLE IF EXISTS nope");
    expect(headers.get("x-clickhouse-format")).toBeNull();
  });

  test("the time zone of the answer is the session's", async () => {
    const { text, headers } = await stage.query("SELECT timezone()", { session_timezone: "Asia/Tokyo" });
    expect([text.trim(), headers.get("x-clickhouse-timezone")]).toEqual(["Asia/Tokyo", "Asia/Tokyo"]);
  });
});

describe("statements", () => {
  test.each([
    ["a comment of several lines", "/* a\nb */ SELECT 1", { max_threads: "1" }, "1"],
    ["a parameter with a dollar", "SELECT {id$:Int32}", { param_id$: "5" }, "5"],
    ["a table's filter as a setting", "SELECT count() FROM numbers(5)", { additional_table_filters: "{}" }, "5"],
    [
      "a table's filter that leaves a row out",
      "SELECT count() FROM (SELECT number FROM system.numbers LIMIT 5) WHERE number = 3",
      { additional_table_filters: "{'system.numbers': 'number != 3'}" },
      "0",
    ],
    [
      "a setting with the ending of an external table",
      "SELECT 1",
      { allow_suspicious_low_cardinality_types: "1" },
      "1",
    ],
    ["a table of truth values", "SELECT count() FROM values(true, false)", {}, "2"],
    ["a fixed setting with the value that it has", "SELECT 1", { format_schema: "" }, "1"],
    ["a setting that is what it is", "SELECT 1", { input_format_values_interpret_expressions: "0" }, "1"],
  ])("%s", async (_, sql, params, result) => {
    expect(await stage.ok(sql, params as Record<string, string>)).toBe(result);
  });

  test("bytes that are not UTF-8", async () => {
    const sql = Buffer.concat([Buffer.from("SELECT hex('"), Buffer.from([0xff]), Buffer.from("')")]);
    expect(await stage.ok(sql)).toBe("FF");
  });

  test.each(["file", "executable", "sqlite", "s3", "values", "`\\`quote\\`insert\\``"])(
    "a table may be called %s",
    async (name) => {
      await stage.ok(`CREATE TABLE ${name} (a Int8) ENGINE = MergeTree ORDER BY a`);
      await stage.ok(`INSERT INTO ${name} (a) VALUES (1)`);
      expect(await stage.ok(`WITH x AS (SELECT a FROM ${name}) SELECT a FROM x`)).toBe("1");
      await stage.ok(`DROP TABLE ${name}`);
    },
  );

  describe("a large insert", () => {
    const rows = 4_000_000;
    const numbers = Buffer.from(BigUint64Array.from({ length: rows }, (_, row) => BigInt(row)).buffer);
    beforeAll(async () => await stage.ok("CREATE TABLE large (n UInt64) ENGINE = MergeTree ORDER BY n"));
    afterAll(async () => await stage.ok("DROP TABLE large SYNC"));

    test("arrives whole, and is moved by the kernel once a thread for that runs", async () => {
      let moved = false;
      for (let round = 0; round < 20 && !moved; round += 1) {
        await stage.ok("TRUNCATE TABLE large");
        const answer = await stage.query(numbers, { query: "INSERT INTO large FORMAT RowBinary" });
        expect(answer.text).toBe("");
        expect(await stage.ok("SELECT count(), sum(n) FROM large")).toBe(`${rows}\t${(rows * (rows - 1)) / 2}`);
        moved = answer.headers.get("connection") === "close";
      }
      expect(moved).toBe(process.platform === "linux");
    });

    test("that the engine refuses at its beginning is answered with the reason", async () => {
      const answer = await stage.query(numbers, { query: "INSERT INTO large FORMAT JSONEachRow" });
      expect(answer.text).toContain("Cannot parse input");
      expect(answer.status).toBe(400);
    });
  });

  test("a form carries the statement, its parameters and external tables", async () => {
    const form = new FormData();
    form.set("query", "SELECT {x:Int8}");
    form.set("param_x", "4");
    expect(await stage.ok("", {}, { body: form })).toBe("4");
    const table = new FormData();
    table.set("d", new Blob(["1\tx\n2\ty\n"]), "d.tsv");
    const params = { query: "SELECT b FROM d ORDER BY a", d_structure: "a Int8, b String" };
    expect(await stage.ok("", params, { body: table })).toBe("x\ny");
  });

  test("DROP DATABASE default ends nothing, and it can be made again", async () => {
    await stage.ok("CREATE DATABASE kept");
    await stage.ok("CREATE TABLE kept.t (a Int8) ENGINE = MergeTree ORDER BY a");
    await stage.ok("DROP DATABASE default");
    expect(await stage.ok("SELECT 1")).toBe("1");
    expect(await stage.ok("SELECT count() FROM kept.t")).toBe("0");
    await stage.ok("CREATE DATABASE default");
    await stage.ok("CREATE TABLE s (s String) ENGINE = MergeTree ORDER BY s");
    await stage.ok("DROP DATABASE kept");
  });

  test("UNDROP TABLE brings a table back", async () => {
    await stage.ok("CREATE DATABASE ud ENGINE = Atomic");
    await stage.ok("CREATE TABLE ud.t (a Int8) ENGINE = MergeTree ORDER BY a");
    await stage.ok("INSERT INTO ud.t VALUES (7)");
    await stage.ok("DROP TABLE ud.t");
    await stage.ok("UNDROP TABLE ud.t");
    expect(await stage.ok("SELECT a FROM ud.t")).toBe("7");
    await stage.ok("DROP DATABASE ud");
  });

  test("a dictionary over the service's own table", async () => {
    await stage.ok("CREATE TABLE source (s String, n UInt8) ENGINE = MergeTree ORDER BY s");
    await stage.ok("INSERT INTO source VALUES ('a', 3)");
    for (const login of ["", "USER 'default' PASSWORD 'secret' "]) {
      await stage.ok(
        `CREATE OR REPLACE DICTIONARY d (s String, n UInt8 DEFAULT 1) PRIMARY KEY s
         SOURCE(CLICKHOUSE(${login}TABLE 'source')) LIFETIME(0) LAYOUT(COMPLEX_KEY_HASHED())`,
      );
      expect(await stage.ok("SELECT dictGet('d', 'n', 'a')")).toBe("3");
    }
  });
});

describe("inserts", () => {
  test("WITH ... INSERT keeps its data to the last character", async () => {
    await stage.ok("WITH 1 AS y INSERT INTO s (s) FORMAT TabSeparated\nvalue;\n");
    await stage.ok("u;v\n", { query: "WITH 1 AS y INSERT INTO s FORMAT TabSeparated" });
    expect(await only()).toBe("['u;v','value;']");
  });

  test("EPHEMERAL columns are not part of the row", async () => {
    await stage.ok("CREATE TABLE e (a Int8, u String EPHEMERAL, h String DEFAULT upper(u)) ENGINE = Memory");
    await stage.ok("1\tx\n", { query: "INSERT INTO e FORMAT TSV" });
    expect((await stage.query("INSERT INTO e VALUES (3, 'q', 'w')")).status).not.toBe(200);
    expect(await stage.ok("SELECT * FROM e")).toBe("1\tx");
  });
});

describe("users and sessions", () => {
  test("everybody is who they are", async () => {
    expect(await stage.ok("SELECT currentUser()")).toBe("default");
    expect(await stage.ok("SELECT currentUser()", {}, reader)).toBe("reader");
    expect((await stage.query("DROP TABLE s", {}, reader)).text).toContain("This user can only read. (READONLY)");
  });

  test("a reader sees its own queries, and nobody sees those of this program", async () => {
    const slow = stage.ok("SELECT sleep(1)", { query_id: "somebody's" });
    const seen = "SELECT count() FROM system.processes WHERE query_id = 'somebody\\'s'";
    await until("it runs", async () => (await stage.ok(seen)) === "1");
    expect(await stage.ok(seen, {}, reader)).toBe("0");
    await slow;
    const users = "SELECT DISTINCT user FROM system.processes";
    expect([await stage.ok(users), await stage.ok(users, {}, reader)]).toEqual(["default", "reader"]);
    const shown = await stage.ok("SHOW PROCESSLIST FORMAT JSONEachRow");
    expect(shown).not.toContain(stage.dir);
  });

  test("queries are in system.query_log", async () => {
    await stage.ok("SELECT 'a query to find again'", { query_id: "logged" });
    const logged = "SELECT type, user, query FROM system.query_log WHERE query_id = 'logged' AND type = 'QueryFinish'";
    await until("it is logged", async () => (await stage.query(logged)).text !== "");
    expect(await stage.ok(logged)).toBe("QueryFinish\tdefault\tSELECT \\'a query to find again\\'");
    expect(await stage.ok("SELECT count() FROM system.query_log WHERE query_id = 'logged'", {}, reader)).toBe("0");
  });

  test("tools can read who may do what, and read-only users change nothing of it", async () => {
    expect(await stage.ok("SHOW GRANTS")).toMatch(/^GRANT .*SELECT.* TO default$/m);
    expect(await stage.ok("SHOW GRANTS", {}, reader)).toMatch(/^GRANT .*SELECT.* TO reader$/m);
    expect((await stage.ok("SELECT name FROM system.users")).split("\n")).toContain("reader");
    expect(await stage.ok("SELECT count() FROM system.roles")).toBe("0");
    expect(await stage.ok("CHECK GRANT CREATE USER ON *.*")).toBe("0");
    expect(await stage.ok("SET ROLE NONE; ")).toBe("");
    const changes = ["CREATE ROW POLICY p ON s USING 1", "SET DEFAULT ROLE NONE TO default", "GRANT ALL ON *.* TO u"];
    for (const sql of changes) {
      expect((await stage.query(sql)).text).toMatch(/docs\/sql-users\.md lists .*\(ACCESS_DENIED\)/);
    }
    for (const sql of ["CREATE USER u IDENTIFIED BY 'x'", "CREATE ROLE r", "GRANT SELECT ON *.* TO u"]) {
      expect((await stage.query(sql, {}, reader)).text).toContain("Code: 164");
    }
  });

  test("an unknown role is refused, and close_session ends a session", async () => {
    expect((await stage.query("SELECT 1", { role: "nosuch" })).status).not.toBe(200);
    await stage.ok("CREATE TEMPORARY TABLE q (a Int8)", { session_id: "z", close_session: "1" });
    expect((await stage.query("SELECT 1", { session_id: "z", session_check: "1" })).text).toContain("Code: 372");
  });

  test("pages of other origins may ask, when the server is asked to say so", async () => {
    const preflight = await fetch(stage.url, {
      method: "OPTIONS",
      headers: { Origin: "http://a", "Access-Control-Request-Method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")).toContain("x-clickhouse-key");
    const { headers } = await stage.query(
      "SELECT 1",
      { add_http_cors_header: "1" },
      { headers: { Origin: "http://a" } },
    );
    expect(headers.get("access-control-allow-origin")).toBe("*");
  });

  test("a login that fails names no path and no version of ours", async () => {
    const { text } = await stage.query("SELECT 1", {}, { headers: { "X-ClickHouse-Key": "wrong" } });
    expect(text).toContain("AUTHENTICATION_FAILED");
    expect(text).not.toContain("/");
  });
});
