/** Statements through the management API: rights, errors, streaming, cancelling, sleeping services. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
const auth: Record<"admin" | "read_only", string> = { admin: "", read_only: "" };

beforeAll(async () => {
  // Ten minutes of idleness are one second.
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "200" } });
  service = await runningService(served, { idleScaling: false, minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 });
  const { organizationId, keyId, keySecret } = served.credentials;
  auth.admin = basic(keyId, keySecret);
  const made = await served.api.createKey({ params: { organizationId }, body: { name: "r", roles: ["read_only"] } });
  auth.read_only = basic(made.keyId, made.keySecret);
  await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  await query(service, "INSERT INTO t SELECT number FROM numbers(1000)");
});
afterAll(() => served[Symbol.asyncDispose]());

function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
}

type Options = { readonly as?: keyof typeof auth; readonly of?: BenchService; readonly signal?: AbortSignal };

function send(body: object, { as = "admin", of = service, signal }: Options = {}): Promise<Response> {
  const url = `${served.credentials.baseUrl}/v1/organizations/${of.params.organizationId}/services/${of.id}/query`;
  const headers = { authorization: auth[as], "content-type": "application/json" };
  return fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function lines(body: object, options?: Options): Promise<Record<string, unknown>[]> {
  const text = await (await send(body, options)).text();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
}

async function refused(body: object, options?: Options) {
  const response = await send(body, options);
  const { code, engine, issues } = (await response.json()) as Record<"code" | "engine" | "issues", unknown>;
  return { status: response.status, code, engine, issues };
}

describe("results", () => {
  test("rows arrive in the default format with names, types and progress, 64-bit integers undamaged", async () => {
    const response = await send({ query: "SELECT toUInt64(-1) AS b", queryId: "my-id" });
    expect(response.headers.get("x-clickhouse-query-id")).toBe("my-id");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    expect(text).toContain('{"meta":[{"name":"b","type":"UInt64"}]}');
    expect(text).toContain('{"row":{"b":18446744073709551615}}');
    expect(text).toMatch(/^\{"progress":\{"read_rows":"1"/);
  });

  test("progress arrives while the query runs", async () => {
    const leave = new AbortController();
    const body = {
      query: "SELECT sum(sleepEachRow(0.05)) FROM numbers(6000)",
      queryId: "progressing",
      settings: { max_block_size: 1, interactive_delay: 100_000 },
    };
    const response = await send(body, { signal: leave.signal });
    const { value } = await (response.body as ReadableStream<Uint8Array>).getReader().read();
    expect(Buffer.from(value as Uint8Array).toString()).toContain('"progress":{');
    expect(await query(service, "SELECT count() FROM system.processes WHERE query_id = 'progressing'")).toBe("1");
    leave.abort();
  });

  test("any format, of the request or of the statement", async () => {
    const csv = await send({ query: "SELECT 1, 'a'", format: "CSV" });
    expect([await csv.text(), csv.headers.get("content-type")]).toEqual([
      '1,"a"\n',
      expect.stringContaining("text/csv"),
    ]);
    expect(await (await send({ query: "SELECT 1 FORMAT TSV", format: "CSV" })).text()).toBe("1\n");
  });

  test.each<[string, unknown, string]>([
    ["String", "x\\y\t'z\n", "x\\y\t'z\n"],
    ["Array(UInt8)", "[1,2]", "[1,2]"],
    ["Array(String)", "['x\\'y','a\\tb','c\td','e\\\\f']", "['x\\'y','a\\tb','c\\td','e\\\\f']"],
    ["Map(String, String)", "{'k\\'':'v'}", "{'k\\'':'v'}"],
    ["Tuple(String, UInt8)", "('a\\'b',1)", "('a\\'b',1)"],
    ["Nullable(Int32)", null, "\\N"],
    ["UInt8", 7, "7"],
    ["Bool", true, "true"],
  ])("a parameter of type %s", async (type, value, text) => {
    const body = { query: `SELECT {p:${type}} FORMAT TSVRaw`, params: { p: value } };
    expect(await (await send(body)).text()).toBe(`${text}\n`);
  });

  test("a statement without rows", async () => {
    expect(await (await send({ query: "CREATE TABLE made (a Int8) ENGINE = Memory" })).text()).toBe("");
    await send({ query: "INSERT INTO made VALUES (1), (2)" });
    expect(await query(service, "SELECT sum(a) FROM made")).toBe("3");
  });

  test("a gigabyte passes through in little memory, also to a slow reader", async () => {
    const rssMb = () => {
      const status = readFileSync(`/proc/${served.process.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    };
    const before = rssMb();
    const response = await send({ query: "SELECT randomString(1000) FROM numbers(1048576)", format: "RowBinary" });
    let bytes = 0;
    let most = 0;
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      if (bytes === 0) await delay(1_000);
      bytes += chunk.length;
      most = Math.max(most, rssMb());
    }
    expect(bytes).toBe(1_048_576 * 1_002);
    expect(most - before).toBeLessThan(100);
  });
});

describe("rights", () => {
  test("a key with the role read_only reads, and changes nothing", async () => {
    const rows = await lines({ query: "SELECT count() AS n FROM t", format: "JSONEachRow" }, { as: "read_only" });
    expect(rows).toEqual([{ n: 1000 }]);
    for (const statement of ["INSERT INTO t VALUES (1)", "DROP TABLE t", "SET readonly = 0", "SYSTEM FLUSH LOGS"]) {
      const answer = await refused({ query: statement, readonly: false }, { as: "read_only" });
      expect([statement, answer.status, answer.code]).toEqual([statement, 403, "FORBIDDEN"]);
    }
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
  });

  test("any key can ask to only read", async () => {
    expect(await refused({ query: "INSERT INTO t VALUES (1)", readonly: true })).toMatchObject({ status: 403 });
  });

  test("a reader and a writer of another name have engine users of their own", async () => {
    const user = { query: "SELECT currentUser() FORMAT TSV" };
    expect(await (await send(user)).text()).toBe("millrace-writer\n");
    expect(await (await send(user, { as: "read_only" })).text()).toBe("millrace-reader\n");
  });

  test("the guard judges every statement, its parameters and its settings", async () => {
    for (const statement of [
      "SELECT * FROM file('/etc/passwd')",
      "SELECT * FROM url('http://127.0.0.1')",
      "SELECT 1 SETTINGS dialect = 'prql'",
      "CREATE USER u",
      "BACKUP TABLE t TO File('x')",
    ]) {
      const { status, engine } = await refused({ query: statement });
      expect([statement, status, engine]).toMatchObject([statement, 403, { code: expect.any(Number) }]);
    }
    const { organizationId } = served.credentials;
    const events = () =>
      served.api.listAuditEvents({ params: { organizationId }, query: { type: "statement_refused" } });
    const event = await until("the refusal is recorded", async () =>
      (await events()).find(({ details }) => details.includes("file")),
    );
    expect(event).toMatchObject({ actorType: "api_key", serviceId: service.id });
  });

  test("a setting that is not on the list is refused before it reaches the engine", async () => {
    for (const settings of [
      { dialect: "prql" },
      { readonly: 0 },
      { max_threads: "1; SELECT" },
      { query: "SELECT 2" },
    ]) {
      expect(await refused({ query: "SELECT 1", settings })).toMatchObject({ status: 400, code: "BAD_REQUEST" });
    }
    for (const name of ["a&query", "a b", ""]) {
      expect(await refused({ query: "SELECT 1", params: { [name]: "1" } })).toMatchObject({ status: 400 });
    }
    expect(await refused({ query: "SELECT 1", format: "CSV&user=default" })).toMatchObject({ status: 400 });
    expect(await refused({ query: "SELECT 1", queryId: "a&session_id=x" })).toMatchObject({ status: 400 });
  });
});

describe("errors", () => {
  test.each([
    ["SELECT 'é', , 1", 422, "QUERY_FAILED", { code: 62, name: "SYNTAX_ERROR" }, 14],
    ["SELECT * FROM nothing", 422, "QUERY_FAILED", { code: 60, name: "UNKNOWN_TABLE" }, undefined],
    ["SELECT throwIf(1)", 422, "QUERY_FAILED", { code: 395, name: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO" }, undefined],
  ])("before the first byte: %s", async (statement, status, code, engine, position) => {
    for (const format of ["JSONEachRowWithProgress", "JSONCompact", "CSV", "XML"]) {
      const answer = await refused({ query: statement, format });
      expect(answer).toMatchObject({ status, code, engine });
      expect((answer.issues as { position?: number }[])[0]?.position).toBe(position);
    }
  });

  test("a query that takes too long", async () => {
    const answer = await refused({ query: "SELECT sleep(3)", settings: { max_execution_time: 0.2 } });
    expect(answer).toMatchObject({ status: 504, code: "TIMEOUT", engine: { code: 159 } });
  });

  test("after the first byte: in the result, where the format has a place for it", async () => {
    const body = { query: "SELECT throwIf(number = 3) AS a FROM numbers(5)", settings: { max_block_size: 1 } };
    const all = await lines(body);
    expect(all.filter((line) => "row" in line)).toHaveLength(3);
    expect(all.at(-1)?.exception).toMatch(/^Code: 395\./);
  });

  test("after the first byte: otherwise the response is cut off", async () => {
    // With one thread the rows before the exception are written, and they are more than any buffer on the way holds.
    const statement =
      "SELECT number, throwIf(number = 3000000) FROM numbers(5000000) SETTINGS max_threads = 1, output_format_parallel_formatting = 0";
    const response = await send({ query: statement, format: "CSV" });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test("an unknown service", async () => {
    const none = { ...service, id: "00000000-0000-4000-8000-000000000000" };
    expect(await refused({ query: "SELECT 1" }, { of: none })).toMatchObject({ status: 404 });
  });
});

test("a caller that goes away ends its query in the engine", async () => {
  const runs = async () =>
    (await query(service, "SELECT count() FROM system.processes WHERE query_id = 'long'")) === "1";
  const gone = new AbortController();
  const body = { query: "SELECT sum(sleepEachRow(0.1)) FROM numbers(3000)", settings: { max_block_size: 1 } };
  const answer = send({ ...body, queryId: "long" }, { signal: gone.signal });
  await until("it runs", runs);
  gone.abort();
  await expect(answer.then((response) => response.text())).rejects.toThrow();
  await until("it has ended", async () => !(await runs()), 5_000);
});

describe("a service that sleeps", () => {
  let sleeper: BenchService;
  const state = async () => (await served.api.getService({ params: sleeper.params })).state;
  beforeAll(async () => {
    const memory = { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 };
    sleeper = await runningService(served, { idleScaling: true, idleTimeoutMinutes: 5, ...memory });
  });

  test("wake never: does not keep it awake, and then says that it sleeps and leaves it so", async () => {
    await until("it sleeps in spite of the queries", async () => {
      await (await send({ query: "SELECT 1", wake: "never" }, { of: sleeper })).text();
      return (await state()) === "idle";
    });
    const answer = await refused({ query: "SELECT 1", wake: "never" }, { of: sleeper });
    expect(answer).toMatchObject({ status: 409, code: "SERVICE_ASLEEP" });
    expect(await state()).toBe("idle");
  });

  test("wake auto: wakes it", async () => {
    expect(await (await send({ query: "SELECT 1", format: "TSV" }, { of: sleeper })).text()).toBe("1\n");
  });

  test("stopped: says so", async () => {
    await served.api.updateServiceState({ params: sleeper.params, body: { command: "stop" } });
    await until("stopped", async () => (await state()) === "stopped");
    expect(await refused({ query: "SELECT 1" }, { of: sleeper })).toMatchObject({ status: 503 });
    expect(await refused({ query: "SELECT 1", wake: "never" }, { of: sleeper })).toMatchObject({ status: 409 });
  });
});

describe("the query endpoint", () => {
  const at = async (as: keyof typeof auth, sql: string, format = "CSV") => {
    const response = await fetch(`${served.credentials.baseUrl}/cloud/service/${service.id}/run?format=${format}`, {
      method: "POST",
      headers: { authorization: auth[as], "content-type": "application/json", origin: "https://app.example.com" },
      body: JSON.stringify({ sql, database: "default" }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const configure = async (roles: ("sql_console_read_only" | "sql_console_admin")[]) => {
    const keys = await served.api.listKeys({ params: { organizationId: service.params.organizationId } });
    const body = { roles, openApiKeys: keys.map(({ id }) => id), allowedOrigins: "https://app.example.com" };
    await served.api.setQueryEndpoint({ params: service.params, body });
  };

  test("runs a statement in the given format, for a page of an allowed origin", async () => {
    await configure(["sql_console_admin"]);
    const { status, headers, text } = await at("read_only", "SELECT count() FROM t");
    expect([status, text]).toEqual([200, "1000\n"]);
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect((await at("admin", "SELECT 1 AS a", "JSONEachRow")).text).toBe('{"a":1}\n');
  });

  test("writes only with a role and a key that may; the guard and errors are those of other statements", async () => {
    await configure(["sql_console_admin"]);
    expect((await at("admin", "CREATE TABLE by_endpoint (a UInt8) ENGINE = Memory")).status).toBe(200);
    expect((await at("read_only", "INSERT INTO by_endpoint VALUES (1)")).status).toBe(403);
    await configure(["sql_console_read_only"]);
    expect((await at("admin", "INSERT INTO by_endpoint VALUES (1)")).status).toBe(403);
    const broken = JSON.parse((await at("admin", "SELEC 1")).text) as { issues: { path: string; position: number }[] };
    expect(broken.issues[0]).toMatchObject({ path: "sql", position: 0 });
  });
});
