/** Asynchronous inserts: what a client of a ClickHouse server relies on when it sends one row at a time. */
import { createClient } from "@clickhouse/client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";
import { query, runningService, serve, untilText } from "../../../harness/serve.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());
beforeEach(async () => {
  await flush();
  await stage.ok("DROP TABLE IF EXISTS t SYNC");
  await stage.ok("CREATE TABLE t (id UInt64, name String DEFAULT 'none') ENGINE = MergeTree ORDER BY id");
});

const waits = { async_insert: "1", wait_for_async_insert: "1" };
const returns = { async_insert: "1", wait_for_async_insert: "0" };
/** Waits for others much longer than a test. */
const held = { async_insert_use_adaptive_busy_timeout: "0", async_insert_busy_timeout_ms: "600000" };
const insert = (body: string | Buffer, params: Record<string, string> = waits, init: RequestInit = {}) =>
  stage.query(body, { query: "INSERT INTO t FORMAT JSONEachRow", ...params }, init);
const row = (id: number) => JSON.stringify({ id, name: `name ${id}` });
const count = async () => await stage.ok("SELECT count(), uniqExact(id) FROM t");
/** Parts that inserts have made, merged or not. */
const parts = async () => Number(await stage.ok("SELECT max(max_block_number) FROM system.parts WHERE table = 't'"));
const flush = async () => await stage.ok("SYSTEM FLUSH ASYNC INSERT QUEUE");
const summary = (headers: Headers) => JSON.parse(headers.get("x-clickhouse-summary") ?? "{}") as Record<string, string>;

/** Calls from this many clients, each of which waits for its answer. */
async function fromClients(clients: number, calls: number, call: (id: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: clients }, client));
}

describe("a thousand inserts of one row from fifty clients", () => {
  const statuses = async (params: Record<string, string>, spoiled = -1) => {
    const seen: string[] = [];
    await fromClients(50, 1_000, async (id) => {
      const { status, text } = await insert(id === spoiled ? '{"id": "x"}' : row(id), params);
      seen.push(id === spoiled ? text : String(status));
    });
    return [...new Set(seen)];
  };

  test("make a few parts when nobody waits, with every row once", async () => {
    const began = performance.now();
    const each = { ...returns, async_insert_use_adaptive_busy_timeout: "0", async_insert_busy_timeout_ms: "1000" };
    expect(await statuses(each)).toEqual(["200"]);
    await flush();
    expect(await count()).toBe("1000\t1000");
    expect(await parts()).toBeLessThanOrEqual((performance.now() - began) / 1_000 + 1);
  });

  test("make one part for each round of clients that wait, and are visible with the answer", async () => {
    expect(await statuses(waits)).toEqual(["200"]);
    expect(await count()).toBe("1000\t1000");
    expect(await parts()).toBeLessThanOrEqual(100);
  });

  test("with one bad row among them: its client alone gets the error of a server", async () => {
    const seen = await statuses(waits, 500);
    expect(seen).toHaveLength(2);
    expect(seen.find((one) => one !== "200")).toMatch(
      /^Code: 27\. DB::Exception: Cannot parse input.*while reading the value of key id/,
    );
    expect(await count()).toBe("999\t999");
    expect(await parts()).toBeLessThanOrEqual(100);
  });
});

describe("each client's answer is its own", () => {
  /** Collected together: each is sent before the first flush, which is asked for. */
  const together = async (
    bodies: readonly (string | Buffer)[],
    format = "JSONEachRow",
    params: Record<string, string> = {},
  ) => {
    const query = format === "Values" ? "INSERT INTO t VALUES" : `INSERT INTO t FORMAT ${format}`;
    const answers = bodies.map((body) => insert(body, { ...waits, ...held, ...params, query }));
    await expect.poll(waiting).toBe(bodies.length);
    await flush();
    return (await Promise.all(answers)).map(({ text }) => /\((\w+)\) \(version/.exec(text)?.[1] ?? text);
  };
  /** The host reports every two seconds. */
  const waiting = () => stage.host.handoff.inserts.waiting;
  const ids = async () => await stage.ok("SELECT groupArray(id) FROM (SELECT id FROM t ORDER BY id)");

  test("what is written counts only the own rows", async () => {
    const [one, two] = [insert(row(1)), insert(`${row(2)}\n${row(3)}`)];
    expect(summary((await one).headers)).toMatchObject({ written_rows: "1" });
    expect(summary((await two).headers)).toMatchObject({ written_rows: "2" });
    const { headers } = await insert(row(4), { ...waits, query_id: "mine" });
    expect(headers.get("x-clickhouse-query-id")).toBe("mine");
    expect(headers.get("x-clickhouse-timezone")).not.toBeNull();
    expect(summary((await insert(row(5), returns)).headers)).toMatchObject({ written_rows: "0" });
  });

  test.each([
    ["JSONEachRow", ['{"id":1}', '{"id":"x"}', '{"id":2}{"id":3}', '{"id":-']],
    ["JSONCompactEachRow", ['[1,"a"]', '["x","a"]', '[2,"a"]\n[3,"b"]', "[1,"]],
    ["TSV", ["1\ta", "x\ta\n", "2\ta\n3\tb\n", "1"]],
    ["CSV", ["1,a", 'x,"a"\n', '2,"a\n4,""b"\n3,b\n', 'x,"a']],
    ["Values", ["(1, 'a')", "('x', 'y')", "(1 + 1, 'a'), (3, upper('b'));", "(1"]],
  ])("bad rows of %s leave those of others", async (format, bodies) => {
    const [good, bad, more, cut] = bodies as [string, string, string, string];
    // What is cut off is known before, and never joined with others.
    const alone = insert(cut, {
      ...waits,
      query: format === "Values" ? "INSERT INTO t VALUES" : `INSERT INTO t FORMAT ${format}`,
    });
    expect((await alone).status).not.toBe(200);
    const [first, second, third] = await together([good, bad, more], format);
    expect([first, third]).toEqual(["", ""]);
    expect(second).toMatch(/^[A-Z_]+$/);
    expect(await ids()).toBe("[1,2,3]");
    expect(await parts()).toBeLessThanOrEqual(2);
  });

  test("blocks of Native are joined when their columns are the same", async () => {
    const blocks = await Promise.all(
      ["1::UInt64 AS id, 'a'", "2::UInt64 AS id, 'b'", "'x' AS id, 'c'", "3 AS id, 'd'"].map(async (columns) => {
        const sql = `SELECT ${columns} AS name FORMAT Native`;
        const headers = { "X-ClickHouse-Key": "secret" };
        return Buffer.from(await (await fetch(stage.url, { method: "POST", body: sql, headers })).arrayBuffer());
      }),
    );
    const seen = await together(blocks, "Native");
    expect(seen.toSpliced(2, 1)).toEqual(["", "", ""]);
    expect(seen[2]).toMatch(/^[A-Z_]+$/);
    expect(await ids()).toBe("[1,2,3]");
    expect(await parts()).toBe(2);
  });

  test("a constraint concerns the insert that violates it", async () => {
    await stage.ok("ALTER TABLE t ADD CONSTRAINT small CHECK id < 100");
    expect(await together(['{"id":1}', '{"id":100}', '{"id":2}'])).toEqual(["", "VIOLATED_CONSTRAINT", ""]);
    expect(await ids()).toBe("[1,2]");
  });

  test("an error of a view is everybody's, and nothing is inserted twice", async () => {
    await stage.ok("CREATE MATERIALIZED VIEW v ENGINE = Memory AS SELECT toUInt8(name) AS a FROM t");
    const seen = await together(['{"id":1,"name":"1"}', '{"id":2,"name":"x"}']);
    await stage.ok("DROP TABLE v SYNC");
    expect(seen).toEqual(["CANNOT_PARSE_TEXT", "CANNOT_PARSE_TEXT"]);
    expect(Number((await count()).split("\t")[0])).toBeLessThanOrEqual(2);
  });

  test("an error behind a million rows leaves none of them twice", async () => {
    const rows = (from: number) => Array.from({ length: 70_000 }, (_, at) => `${from + at}\t\n`).join("");
    const bodies = Array.from({ length: 8 }, (_, at) => rows(1_000_000 + at * 70_000));
    const many = Array.from({ length: 16 }, (_, at) => rows(2_000_000 + at * 70_000));
    expect(await together([...bodies, ...many, "x\ta\n"], "TSV", { async_insert_max_data_size: "50000000" })).toEqual([
      ...Array(24).fill(""),
      "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    ]);
    expect(await count()).toBe("1680000\t1680000");
  });

  test("defaults, unknown fields and settings are those of each", async () => {
    const strict = insert('{"id":1,"x":2}', { ...waits, input_format_skip_unknown_fields: "0" });
    const loose = insert('{"id":2,"x":2}', { ...waits, input_format_skip_unknown_fields: "1" });
    expect((await strict).text).toContain("Unknown field");
    expect((await loose).status).toBe(200);
    expect(await stage.ok("SELECT id, name FROM t")).toBe("2\tnone");
  });
});

describe("before the answer", () => {
  test("rights, table, columns and format are checked, also when nobody waits", async () => {
    for (const params of [waits, returns]) {
      const refused = async (query: string, init: RequestInit = {}) =>
        (await insert(row(1), { ...params, query }, init)).text;
      const reader = { headers: { "X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader" } };
      expect(await refused("INSERT INTO t FORMAT JSONEachRow", reader)).toContain("READONLY");
      expect(await refused("INSERT INTO none FORMAT JSONEachRow")).toContain("UNKNOWN_TABLE");
      expect(await refused("INSERT INTO t (id, other) FORMAT JSONEachRow")).toContain("NO_SUCH_COLUMN_IN_TABLE");
      expect(await refused("INSERT INTO system.one FORMAT JSONEachRow")).toContain("ACCESS_DENIED");
      expect(await refused("INSERT INTO t SELECT * FROM file('x') FORMAT JSONEachRow")).toContain("ACCESS_DENIED");
    }
    await flush();
    expect(await count()).toBe("0\t0");
  });

  test("the time that a client waits has an end", async () => {
    const { text } = await insert(row(1), { ...waits, ...held, wait_for_async_insert_timeout: "1" });
    expect(text).toContain("Wait for async insert timeout (1000 ms) exceeded. (TIMEOUT_EXCEEDED)");
    await flush();
    expect(await count()).toBe("1\t1");
  });
});

describe("flushes", () => {
  test("come with the size and the number that a client names", async () => {
    const query =
      "INSERT INTO t SETTINGS async_insert = 1, wait_for_async_insert = 1, async_insert_max_query_number = 2 FORMAT JSONEachRow";
    expect(
      (await Promise.all([insert(row(1), { ...held, query }), insert(row(2), { ...held, query })])).map(
        ({ status }) => status,
      ),
    ).toEqual([200, 200]);
    const large = { ...waits, ...held, async_insert_max_data_size: "10" };
    expect((await insert(row(3), large)).status).toBe(200);
    expect(await count()).toBe("3\t3");
    expect(await parts()).toBe(2);
  });

  test("a client alone is not held", async () => {
    const began = performance.now();
    for (let id = 0; id < 4; id += 1) expect((await insert(row(id))).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await parts()).toBeGreaterThanOrEqual(3);
  });
});

describe("what is not collected runs as it comes", () => {
  test.each([
    ["a query", { query: "INSERT INTO t SELECT 1, 'a'", body: "" }],
    [
      "input()",
      { query: "INSERT INTO t SELECT id, name FROM input('id UInt64, name String') FORMAT TSV", body: "1\ta\n" },
    ],
    ["a format that cannot be joined", { query: "INSERT INTO t FORMAT RowBinary", body: "\x01\0\0\0\0\0\0\0\x01a" }],
    ["a token", { insert_deduplication_token: "one", body: row(1) }],
    ["settings that say where rows end", { format_csv_delimiter: ";", query: "INSERT INTO t FORMAT CSV", body: "1;a" }],
    ["large data", { body: `${row(1)}${" ".repeat(1_100_000)}` }],
    ["a session with settings", { session_id: "own", body: row(1) }],
  ])("%s", async (_, { body, ...params }) => {
    await stage.ok("SET max_threads = 1", { session_id: "own" });
    const { status, text } = await insert(Buffer.from(body, "latin1"), {
      ...returns,
      ...held,
      ...(params as Record<string, string>),
    });
    expect([status, text]).toEqual([200, ""]);
    expect(await count()).toBe("1\t1");
  });

  test("the tables and the database of a session are its own", async () => {
    await stage.ok("CREATE TEMPORARY TABLE t (id UInt64)", { session_id: "other" });
    await insert('{"id":7}', { ...returns, session_id: "other" });
    expect(await stage.ok("SELECT id FROM t", { session_id: "other" })).toBe("7");
    // As clickhouse-connect sends it: each client has a session, and sets nothing.
    await Promise.all([1, 2, 3].map((id) => insert(row(id), { ...waits, session_id: `s${id}` })));
    expect(await count()).toBe("3\t3");
  });
});

test("the official client for Node collects, with the settings of Langfuse and compression", async () => {
  const client = createClient({
    ...{ url: stage.url, username: "default", password: "secret", max_open_connections: 50 },
    compression: { request: true, response: true },
    clickhouse_settings: {
      ...{ async_insert: 1, wait_for_async_insert: 1, async_insert_busy_timeout_ms: 300 },
      ...{ input_format_json_throw_on_bad_escape_sequence: 0, date_time_input_format: "best_effort" },
    },
  });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, id) =>
      client.insert({ table: "t", values: [{ id, name: `ä\n"\\` }], format: "JSONEachRow" }),
    ),
  );
  expect(answers.every(({ summary: seen }) => seen?.written_rows === "1")).toBe(true);
  await client.close();
  expect(await count()).toBe("100\t100");
  expect(await parts()).toBeLessThanOrEqual(30);
});

test("rows that were acknowledged are tried again until the engine takes them", async () => {
  await stage.ok("SYSTEM STOP MERGES t");
  for (const id of [1, 2]) await insert(row(id), {});
  expect((await insert(row(3), { ...returns, ...held })).status).toBe(200);
  await stage.ok("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 1");
  await flush();
  expect(await count()).toBe("2\t2");
  expect((await insert(row(4), {})).text).toContain("TOO_MANY_PARTS");
  await stage.ok("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 100");
  await expect
    .poll(
      async () => {
        await flush();
        return await count();
      },
      { timeout: 10_000 },
    )
    .toBe("3\t3");
});

describe("kill -9", () => {
  test("loses nothing that was answered, whoever waits", async () => {
    const ids = Array.from({ length: 200 }, (_, id) => id);
    const answers = await Promise.all(ids.map((id) => insert(row(id), { ...returns, ...held })));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(await count()).toBe("0\t0");
    for (let times = 0; times < 2; times += 1) {
      process.kill(stage.host.pid, "SIGKILL");
      await stage.host.exited;
      await stage.restart();
      await expect.poll(count).toBe("200\t200");
    }
  });

  test("amid inserts of twenty clients loses none of the answered rows", async () => {
    const answered: number[] = [];
    await fromClients(20, 520, async (id) => {
      // What comes after the kill has no answer, or an error.
      const { status } = await insert(row(id), returns).catch(() => ({ status: 0 }));
      if (status === 200 && answered.push(id) === 500) process.kill(stage.host.pid, "SIGKILL");
    });
    await stage.host.exited;
    await stage.restart();
    const lost = async () => {
      const known = new Set(JSON.parse(await stage.ok("SELECT groupUniqArray(id) FROM t")) as (number | string)[]);
      return answered.filter((id) => !known.has(id) && !known.has(String(id)));
    };
    await expect.poll(lost).toEqual([]);
    expect(answered.length).toBeGreaterThanOrEqual(500);
  });

  test("of the whole server inserts each row once that was answered and not inserted yet", async () => {
    await using served = await serve();
    const service = await runningService(served);
    await query(service, "CREATE TABLE t (id UInt64) ORDER BY id");
    const settings = new URLSearchParams({ ...returns, ...held, query: "INSERT INTO t FORMAT JSONEachRow" });
    const login = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": service.password };
    await fromClients(20, 100, async (id) => {
      const url = `http://${service.host}:${service.port}/?${settings}`;
      expect((await fetch(url, { method: "POST", body: row(id), headers: login })).status).toBe(200);
    });
    expect(await query(service, "SELECT count() FROM t")).toBe("0");
    await using again = await served.restartAfterKill();
    expect(again.process.pid).not.toBe(served.process.pid);
    const found = () => query(service, "SELECT count(), uniqExact(id) FROM t FORMAT TSV").catch(() => "");
    await untilText("each row once", "100\t100", found);
  });

  test("and a stop inserts what was answered before", async () => {
    expect((await insert(row(1), { ...returns, ...held })).status).toBe(200);
    await stage.host.stop(3_000);
    await stage.restart();
    await expect.poll(count).toBe("1\t1");
  });
});
