/** Object storage pipes end to end: the real program, a real engine, a real S3 server. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assertAccounted } from "../../../harness/accounting.ts";
import { accessKey, startVersitygw, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { versitygwMissing } from "../../../harness/objects/versitygw.ts";
import { columns, createPipe, details, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

if (versitygwMissing !== undefined) console.log(`skipped: ${versitygwMissing}`);
const suite = describe.skipIf(versitygwMissing !== undefined);

let store: TestStore;
let served: Served;
let service: BenchService;

suite("object storage pipes", () => {
  beforeAll(async () => {
    store = await startVersitygw();
    served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  const count = async (table: string) => await query(service, `SELECT count() FROM ${table}`).catch(() => "");
  const create = (body: PipeBody) => createPipe(served, service, body);
  const once = async (body: PipeBody) => {
    const id = await create(body);
    await untilState(served, service, id, "Completed");
    return await details(served, service, id);
  };
  const fast = { settings: { object_storage_polling_interval_ms: 200 } };
  const rejects = async (code: number, body: unknown) =>
    await served.api.createPipe({ params: service.params, body: body as PipeBody }).then(
      () => expect.fail("the pipe was created"),
      (error: { status: number; message: string; issues?: { path: string }[] }) => {
        expect(error.status).toBe(code);
        return error;
      },
    );

  test("a key is loaded as exactly that object, whatever characters it has", async () => {
    const keys = ["a{1,2}*.json", "a1.json", "a2x.json", "sp ace.json", "pl+us.json", "per%41cent.json", "q?x.json"];
    keys.push("qzx.json", "é-日.json", `quo'te".json`, "hash#x.json", "back\\slash.json", "[b].json", "a&b=1.json");
    keys.push("s;c,d.json", "t}a{l.json", "..dots..json", "A1.json", "li\nne.json", "ta\tb.json", "re\rturn.json");
    for (const [id, key] of keys.entries()) await store.put(`odd/${key}`, JSON.stringify({ id, name: key }));
    await store.put("odd/li", JSON.stringify({ id: 997, name: "first line" }));
    await store.put("odd/deeper/a1.json", JSON.stringify({ id: 999, name: "deeper" }));
    await store.put("odd2/a1.json", JSON.stringify({ id: 998, name: "elsewhere" }));
    const done = await once(pipeBody(store, "odd/*.json", "odd"));
    expect(done.progress).toMatchObject({ filesLoaded: keys.length, sentRows: keys.length });
    const loaded = (await query(service, "SELECT name FROM odd ORDER BY id FORMAT JSONEachRow")).split("\n");
    expect(loaded.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(keys);
    await once(pipeBody(store, "odd/a{1,2}*.json", "odd_braces"));
    // Braces are plain characters of a URL: only `?` and `*` are wildcards.
    expect(await query(service, "SELECT name FROM odd_braces")).toBe("a{1,2}*.json");
    await once(pipeBody(store, "odd/**", "odd_deep"));
    expect(await count("odd_deep")).toBe(String(keys.length + 1));
    await once(pipeBody(store, "odd/a?.json", "odd_question"));
    expect(await query(service, "SELECT name FROM odd_question")).toBe("a1.json");
  });

  test("secrets are in no response, no log, no process list and no engine table", async () => {
    await store.put("secret/a.json", rows(0, 10));
    const id = await create(
      pipeBody(store, "secret/*.json", "secrets", { source: { isContinuous: true }, body: fast }),
    );
    await until("loaded", async () => (await count("secrets")) === "10");
    const texts = [
      JSON.stringify(await details(served, service, id)),
      JSON.stringify(await served.api.listPipes({ params: service.params })),
      // The S3 server itself receives the secret in its environment, which `ps` does not show.
      execFileSync("ps", ["-eww", "-o", "args"], { encoding: "utf8" }),
      await query(service, "SELECT create_table_query FROM system.tables WHERE database = 'default' FORMAT TSV"),
    ];
    for (const text of texts) expect(text).not.toContain("SK-of-pipe-tests");
    expect(readFileSync(`${served.dataDir}/millrace.db`).includes("SK-of-pipe-tests")).toBe(false);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
  });

  test("a late, smaller key is found; a replaced object is recorded and not loaded again", async () => {
    await store.put("late/5.json", rows(0, 10));
    const id = await create(pipeBody(store, "late/*.json", "late", { source: { isContinuous: true }, body: fast }));
    await until("loaded", async () => (await count("late")) === "10");
    await store.put("late/1.json", rows(10, 20));
    await until("late key loaded", async () => (await count("late")) === "20");
    await store.put("late/5.json", rows(20, 40));
    await until("recorded", async () => (await count("late_pipes_error")) === "1");
    expect(await query(service, "SELECT origin FROM late_pipes_error")).toBe("bucket/late/5.json");
    expect(await count("late")).toBe("20");
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
    // The table stays; the id is gone.
    await expect(details(served, service, id)).rejects.toMatchObject({ status: 404 });
    expect(await count("late")).toBe("20");
  });

  test("bad rows and files are recorded and never block the others", async () => {
    await store.put("bad/good.json", rows(0, 10));
    await store.put("bad/rows.json", `{"id":10,"name":"ok"}\n{"id":"x"}\nnonsense\n\n{"id":11,"name":"ok"}\n`);
    await store.put("bad/whole.json.gz", "this is not gzip");
    await store.put("bad/x.csv", "id,name\n12,ok\nabc,bad\n13,ok\n");
    await store.put("bad/x.parquet", "PAR1 nothing PAR1");
    await store.put("bad/x.unknown", "?");
    const done = await once(pipeBody(store, "bad/*", "bad"));
    expect(await query(service, "SELECT groupArray(id) FROM (SELECT id FROM bad ORDER BY id)")).toBe(
      "[0,1,2,3,4,5,6,7,8,9,10,11,12,13]",
    );
    const recorded = await query(
      service,
      "SELECT origin, position, raw, 1 FROM bad_pipes_error ORDER BY origin, position",
    );
    expect(recorded.split("\n")).toEqual([
      'bucket/bad/rows.json\trow 2\t{"id":"x"}\t1',
      "bucket/bad/rows.json\trow 3\tnonsense\t1",
      "bucket/bad/whole.json.gz\t\t\t1",
      "bucket/bad/x.csv\trow 2\tabc,bad\t1",
      "bucket/bad/x.parquet\t\t\t1",
      "bucket/bad/x.unknown\t\t\t1",
    ]);
    expect(done.progress).toMatchObject({ errors: 6, filesFailed: 3, filesLoaded: 3, filesFound: 6 });
    expect(done.lastError).toMatch(
      /^3 of 6 objects could not be read and 3 of 17 rows were refused; see bad_pipes_error\. A reason: \w/,
    );
  });

  test("bad rows are counted to the last one, whatever the format", async () => {
    const lines = (row: (i: number) => string) => Array.from({ length: 1_010 }, (_, i) => row(i)).join("\n");
    const bad = (i: number) => i % 101 !== 100;
    await store.put("many/a.csv", `id,name\n${lines((i) => `${bad(i) ? "x" : i},"two\nlines"`)}\n`);
    await store.put("many/b.json", `${lines((i) => `{"id":${bad(i) ? '"x"' : i},"name":"b"}`)}\n\n`);
    await store.put("many/c.tsv", `id\tname\n${lines((i) => `${bad(i) ? "x" : i}\tc`)}\n`);
    const done = await once(pipeBody(store, "many/*", "many"));
    expect(await count("many")).toBe("30");
    expect(done.progress).toMatchObject({ errors: 3_000, fetchedRows: 3_030, sentRows: 30 });
    await assertAccounted(served, service, done.id, { sentRows: 30, refusedRows: 3_000, skippedRows: 0 });
    expect(done).toMatchObject({
      state: "Completed",
      lastError: expect.stringContaining("3000 of 3030 rows were refused; see many_pipes_error. A reason: "),
    });
    expect(await query(service, "SELECT DISTINCT message FROM many_pipes_error WHERE message LIKE '%further%'")).toBe(
      "980 further rows of this object could not be read and were left out.",
    );
  });

  test("rows that a materialized view receives are not counted, with bad rows and without", async () => {
    const table = "CREATE TABLE counted (id UInt64, name String) ENGINE = MergeTree ORDER BY id";
    for (const sql of [table, "CREATE MATERIALIZED VIEW counted_view ENGINE = Memory AS SELECT id FROM counted"]) {
      await query(service, sql);
    }
    for (let at = 0; at < 20; at += 1) await store.put(`counted/${at}.json`, rows(10 * at, 10 * at + 10));
    await store.put("counted/x.json", `${rows(200, 210)}\n{"id":"x"}`);
    const existing = { destination: { managedTable: false, tableDefinition: null } };
    const done = await once(pipeBody(store, "counted/*", "counted", existing));
    expect(await count("counted_view")).toBe("210");
    await assertAccounted(served, service, done.id, { fetchedRows: 211, sentRows: 210, refusedRows: 1 });
  });

  test("values that do not fit are refused rows in every format, or changed on request", async () => {
    const settings = "engine_file_truncate_on_insert = 1, s3_truncate_on_insert = 1";
    const numbers = "SELECT arrayJoin([1, 70000, 3, -5]) AS id, 'n' AS name";
    for (const [suffix, format] of Object.entries({ parquet: "Parquet", avro: "Avro", orc: "ORC", arrow: "Arrow" })) {
      const target = `s3('${store.url(`unfit/x.${suffix}`)}', 'AKTEST', 'SK-of-pipe-tests\\'\\\\x', '${format}')`;
      await query(service, `INSERT INTO FUNCTION ${target} ${numbers} SETTINGS ${settings}`);
    }
    await store.put("unfit/x.json", '{"id":1,"name":"n"}\n{"id":70000,"name":"n"}\n{"id":3,"name":"n"}\n{"id":-5}\n');
    await store.put("unfit/x.csv", "id,name\n1,n\n70000,n\n3,n\n-5,n\n");
    await store.put("unfit/y.csv", "id,name\n1,n\n2\n3,n\n4,n,more\n");
    const types = { destination: { columns: [{ name: "id", type: "UInt8" }, columns[1]] } };
    const done = await once(pipeBody(store, "unfit/*", "unfit", types));
    expect(await query(service, "SELECT id, name, count() FROM unfit GROUP BY id, name ORDER BY id")).toBe(
      "1\tn\t7\n3\tn\t7",
    );
    await assertAccounted(served, service, done.id, { fetchedRows: 28, sentRows: 14, refusedRows: 14 });
    const lenient = { ...types, body: { settings: { database_lenient_values: true } } };
    await once(pipeBody(store, "unfit/x.parquet", "fitted", lenient));
    expect(await query(service, "SELECT groupArray(id) FROM fitted")).toBe("[1,3,112,251]");
    await once(pipeBody(store, "unfit/y.csv", "filled", lenient));
    expect(await query(service, "SELECT groupArray(name) FROM (SELECT * FROM filled ORDER BY id)")).toBe(
      "['n','','n','n']",
    );
  });

  test("a load of which nothing arrived is Failed, and one without objects says so", async () => {
    await store.put("none/a.parquet", "no parquet");
    await store.put("none/b.json.gz", "no gzip");
    const failed = await create(pipeBody(store, "none/*", "none"));
    await until("failed", async () => (await details(served, service, failed)).state === "Failed");
    expect((await details(served, service, failed)).lastError).toMatch(
      /^Nothing was loaded: 2 of 2 objects could not be read; see none_pipes_error\. A reason: \w/,
    );
    const empty = await once(pipeBody(store, "nowhere/*.json", "nowhere"));
    expect(empty).toMatchObject({ state: "Completed", lastError: "No object matches the pattern." });
    const listed = await served.api.listPipes({ params: service.params });
    expect(listed.find(({ id }) => id === failed)).toMatchObject({ state: "Failed", progress: { filesFailed: 2 } });
  });

  test("an existing table keeps its columns, and views get every row once", async () => {
    await query(
      service,
      "CREATE TABLE mine (id UInt64, name String, extra UInt8 DEFAULT 7) ENGINE = MergeTree ORDER BY id",
    );
    await query(
      service,
      "CREATE MATERIALIZED VIEW per ENGINE = SummingMergeTree ORDER BY k AS SELECT id % 3 AS k, count() AS c FROM mine GROUP BY k",
    );
    await store.put("mine/a.json", rows(0, 300));
    await once(pipeBody(store, "mine/*.json", "mine", { destination: { managedTable: false, tableDefinition: null } }));
    expect(await query(service, "SELECT count(), sum(extra) FROM mine")).toBe("300\t2100");
    expect(await query(service, "SELECT sum(c) FROM per")).toBe("300");
    const windows = await query(
      service,
      "SELECT count() FROM system.tables WHERE create_table_query LIKE '%non_replicated_deduplication_window = 100000%' AND (name = 'mine' OR name LIKE '.inner%')",
    );
    expect(windows).toBe("2");
  });

  test("a view that fails makes the pipe wait for it, and doubles nothing", async () => {
    await query(service, "CREATE TABLE seen (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
    await query(service, "CREATE TABLE sink (id UInt64) ENGINE = MergeTree ORDER BY id");
    await query(service, "CREATE MATERIALIZED VIEW fails TO sink AS SELECT id + throwIf(id = 5) AS id FROM seen");
    for (const [file, from] of [0, 10, 20, 30].entries()) await store.put(`fails/${file}.json`, rows(from, from + 10));
    const id = await create(
      pipeBody(store, "fails/*.json", "seen", { destination: { managedTable: false, tableDefinition: null } }),
    );
    await until("the pipe names the view", async () => {
      const { state, lastError } = await details(served, service, id);
      return state === "Degraded" && /refuses inserts.*view default.fails/.test(lastError ?? "");
    });
    await query(service, "DROP VIEW fails");
    await query(service, "CREATE MATERIALIZED VIEW fails TO sink AS SELECT id FROM seen");
    await untilState(served, service, id, "Completed");
    for (const table of ["seen", "sink"]) {
      expect(await query(service, `SELECT count(), uniqExact(id) FROM ${table}`)).toBe("40\t40");
    }
  });

  test("a row cannot pass for a failing view", async () => {
    const name = ": while pushing to view default.v. (BAD_ARGUMENTS) (version 26)";
    await store.put("passes/a.json", `{"id":"${name}"}\n{"id":1,"name":"ok"}\n`);
    const done = await once(pipeBody(store, "passes/*.json", "passes"));
    expect(await count("passes")).toBe("1");
    expect(done.progress).toMatchObject({ errors: 1 });
  });

  test("mapping: rename, nested path, missing field, virtual columns, types of the destination", async () => {
    await store.put("map/a.json", `{"a":{"b":{"c":5,"z":1}},"when":"2026-01-02T03:04:05Z","x.y":"dot","more":1}\n{}\n`);
    const types: Record<string, string> = { n: "UInt16", missing: "String", at: "DateTime('UTC')", dot: "String" };
    Object.assign(types, { path: "String", file: "LowCardinality(String)", size: "UInt64", time: "DateTime" });
    const fields = ["a.b.c", "not_there", "when", "x\\.y", "_path", "_file", "_size", "_time"];
    const names = Object.keys(types);
    const body = pipeBody(store, "map/*.json", "mapped", {
      destination: {
        columns: names.map((name) => ({ name, type: types[name] })),
        tableDefinition: { sortingKey: ["n"], partitionBy: "toYYYYMM(at)" },
      },
      body: { fieldMappings: names.map((name, i) => ({ sourceField: fields[i], destinationField: name })) },
    });
    await once(body);
    const row = await query(
      service,
      "SELECT n, missing, at, dot, path, file, size > 10, time > '2026-01-01' FROM mapped WHERE n = 5",
    );
    expect(row).toBe("5\t\t2026-01-02 03:04:05\tdot\tbucket/map/a.json\ta.json\t1\t1");
    expect(await query(service, "SELECT n, missing, toUnixTimestamp(at), dot FROM mapped WHERE n = 0")).toBe("0\t\t0");
  });

  test("a first row that reads like the names of positions is a row", async () => {
    const names = ["c1", "c2"].map((name) => ({ name, type: "String" }));
    for (const [format, row] of [
      ["CSV", "c1,c2\nx,y\n"],
      ["TabSeparated", "c1\tc2\nx\ty\n"],
    ] as const) {
      const table = `first_${format.toLowerCase()}`;
      await store.put(`first/${format}.txt`, row);
      const destination = { columns: names, tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["c1"] } };
      const fieldMappings = names.map(({ name }) => ({ sourceField: name, destinationField: name }));
      const more = { source: { format }, destination, body: { fieldMappings } };
      await once(pipeBody(store, `first/${format}.txt`, table, more));
      expect(await query(service, `SELECT groupArray(c1) FROM (SELECT c1 FROM ${table} ORDER BY c1)`)).toBe(
        "['c1','x']",
      );
    }
  });

  test("create says what is wrong, with paths, before anything is stored", async () => {
    await store.put("check/a.json", `{"id":"abc","name":"x"}\n`);
    const good = pipeBody(store, "check/*.json", "checked");
    const with_ = (more: object) => ({ ...good, ...more });
    const both = await rejects(
      400,
      with_({ source: { ...good.source, messageBroker: { brokers: "a", topics: "b" } } }),
    );
    expect(both.issues?.[0]?.path).toBe("source");
    const missing = await rejects(400, with_({ fieldMappings: [{ sourceField: "id", destinationField: "id" }] }));
    expect(missing.message).toContain("missing: name");
    const sample = await rejects(400, with_({ source: { ...good.source, validateSamples: true } }));
    expect(sample.message).toMatch(/field "id" does not fit UInt64/);
    const key = { ...accessKey, secretKey: "wrong" };
    const wrongKey = await rejects(400, pipeBody(store, "check/*.json", "checked", { source: { accessKey: key } }));
    expect(wrongKey.message).toContain("refuses access");
    const gone = await rejects(400, with_({ source: { objectStorage: { url: "http://127.0.0.1:9/b/*.json" } } }));
    expect(gone.message).toContain("nothing listens at http://127.0.0.1:9");
    const sql = { ...good.destination, tableDefinition: { sortingKey: ["id"], partitionBy: "(SELECT 1)" } };
    expect((await rejects(400, with_({ destination: sql }))).issues?.[0]?.path).toBe(
      "destination.tableDefinition.partitionBy",
    );
    const type = { ...good.destination, columns: [columns[0], { name: "name", type: "String DEFAULT sleep(3)" }] };
    expect((await rejects(400, with_({ destination: type }))).issues?.[0]?.path).toBe("destination.columns.1.type");
    const none = await rejects(
      400,
      with_({ destination: { ...good.destination, managedTable: false, tableDefinition: null } }),
    );
    expect(none.message).toContain("does not exist");
  });

  test("stop, edit and start; settings merge; immutable members are refused", async () => {
    await store.put("edit/1.json", rows(0, 10));
    const id = await create(pipeBody(store, "edit/*.json", "edited", { source: { isContinuous: true }, body: fast }));
    const params = { ...service.params, pipeId: id };
    await untilState(served, service, id, "Running");
    await expect(served.api.updatePipeState({ params, body: { command: "start" } })).rejects.toThrow(/already running/);
    await until("loaded", async () => (await count("edited")) === "10");
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await store.put("edit/2.json", rows(10, 20));
    await served.api.updatePipeSettings({ params, body: { object_storage_concurrency: 3 } });
    const merged = await served.api.updatePipeSettings({ params, body: { object_storage_max_file_count: 5 } });
    expect(merged).toEqual({ ...fast.settings, object_storage_concurrency: 3, object_storage_max_file_count: 5 });
    const source = { objectStorage: { url: store.url("other/*.json") } };
    await expect(served.api.updatePipe({ params, body: { source } })).rejects.toThrow(/url: cannot be changed/);
    const same = { objectStorage: { url: store.url("edit/*.json"), accessKey } };
    await served.api.updatePipe({
      params,
      body: { name: "renamed", source: same, settings: { object_storage_concurrency: null } },
    });
    expect((await details(served, service, id)).settings).toEqual({
      ...fast.settings,
      object_storage_max_file_count: 5,
    });
    expect(await count("edited")).toBe("10");
    await served.api.updatePipeState({ params, body: { command: "start" } });
    await until("the new file is loaded", async () => (await count("edited")) === "20");
    expect(await count("edited")).toBe("20");
    await served.api.deletePipe({ params });
  });

  test("a pipe that starts paused reads nothing until it is started, and runs with a restart of the server between", async () => {
    await store.put("paused/a.json", rows(0, 10));
    const id = await create({ ...pipeBody(store, "paused/*.json", "paused"), startPaused: true });
    expect(await details(served, service, id)).toMatchObject({ state: "Stopped", progress: { sentRows: 0 } });
    served = await served.restartAfterKill();
    await until("the service is back", async () => (await query(service, "SELECT 1").catch(() => "")) === "1");
    expect(await details(served, service, id)).toMatchObject({ state: "Stopped", progress: { sentRows: 0 } });
    expect(await count("paused")).toBe("");
    await served.api.updatePipeState({ params: { ...service.params, pipeId: id }, body: { command: "start" } });
    await untilState(served, service, id, "Completed");
    expect(await count("paused")).toBe("10");
  });

  test("a stopped service lets the pipe wait and a failed source is reported", async () => {
    const other = await runningService(served);
    await store.put("wait/1.json", rows(0, 10));
    const body = pipeBody(store, "wait/*.json", "waiting", { source: { isContinuous: true }, body: fast });
    const id = (await served.api.createPipe({ params: other.params, body })).id;
    const pipe = () => served.api.getPipe({ params: { ...other.params, pipeId: id } });
    await until("loaded", async () => (await pipe()).progress.sentRows === 10);
    await served.api.updateServiceState({ params: other.params, body: { command: "stop" } });
    await until("the pipe waits", async () => /waiting for the service/.test((await pipe()).lastError ?? ""));
    expect((await pipe()).state).toBe("Stopped");
    await expect(served.api.createPipe({ params: other.params, body })).rejects.toMatchObject({
      status: 424,
      message: expect.stringMatching(/Pipe creation is allowed only when the service is running. Current state: stop/),
    });
    await store.put("wait/2.json", rows(10, 20));
    await served.api.updateServiceState({ params: other.params, body: { command: "start" } });
    await until("it goes on", async () => (await pipe()).progress.sentRows === 20);
    expect((await pipe()).state).toBe("Running");
  });
});
