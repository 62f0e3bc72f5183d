/** The first pipe end to end: real program, real engine, an S3 server, real kills. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestStore, type TestStore } from "../../../harness/objects/object-store.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve({ env: { MILLRACE_SQL_NETWORKS: "any" } }), startTestStore()]);
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const columns = [
  { name: "id", type: "UInt64" },
  { name: "name", type: "String" },
];

type Change = { source?: object; destination?: object; fieldMappings?: object[]; settings?: object };

const createPipe = (pattern: string, table: string, change: Change = {}) =>
  served.api.createPipe({
    params: service.params,
    body: {
      name: table,
      source: {
        objectStorage: {
          url: `${store.endpoint}/${store.bucket}/${pattern}`,
          authentication: "IAM_USER",
          accessKey: store.accessKey,
          ...change.source,
        },
      },
      destination: { table, columns, ...change.destination },
      ...(change.fieldMappings === undefined ? {} : { fieldMappings: change.fieldMappings as never }),
      ...(change.settings === undefined ? {} : { settings: change.settings }),
    },
  });

const details = (pipeId: string) => served.api.getPipe({ params: { ...service.params, pipeId } });
const finished = (pipeId: string) =>
  until(`pipe ${pipeId} completes`, async () => {
    const pipe = await details(pipeId);
    if (pipe.state === "Failed") throw new Error(pipe.lastError);
    return pipe.state === "Completed";
  });
const jsonRows = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => JSON.stringify({ id: from + i, name: `row ${from + i}` })).join("\n");
const summary = (table: string) => query(service, `SELECT count(), uniqExact(id), sum(id) FROM ${table}`);
const expected = (count: number) => `${count}\t${count}\t${(count * (count - 1)) / 2}`;

describe("a one-shot pipe", () => {
  test("loads JSONEachRow objects of many sizes and completes with its counters", async () => {
    for (let i = 0; i < 20; i += 1) await store.put(`json/part-${i}.json`, jsonRows(i * 100, 100));
    const pipe = await createPipe("json/*.json", "from_json");
    expect(pipe).toMatchObject({ name: "from_json", settings: {}, fieldMappings: [] });
    expect(JSON.stringify(pipe)).not.toContain(store.accessKey.secretKey);
    await finished(pipe.id);
    expect(await summary("from_json")).toBe(expected(2000));
    expect((await details(pipe.id)).progress).toMatchObject({ filesLoaded: 20, sentRows: 2000 });
    const metrics = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
    expect(metrics).toMatch(/Pipes_SentEvents_Total\{[^}]*pipe_name="from_json"[^}]*\} 2000/);
  });

  test("maps CSVWithNames fields onto an existing table, and gives that table the memory for tokens", async () => {
    await query(
      service,
      "CREATE TABLE existing (id UInt64, name String, file String, extra String DEFAULT 'kept') ORDER BY id",
    );
    await store.put("csv/a.csv", 'number,label\n0,"zero, quoted"\n1,one\n');
    const pipe = await createPipe("csv/*", "existing", {
      destination: { managedTable: false, columns: [...columns, { name: "file", type: "String" }] },
      fieldMappings: [
        { sourceField: "number", destinationField: "id" },
        { sourceField: "label", destinationField: "name" },
        { sourceField: "_file", destinationField: "file" },
      ],
    });
    await finished(pipe.id);
    expect(await query(service, "SELECT * FROM existing ORDER BY id")).toBe(
      "0\tzero, quoted\ta.csv\tkept\n1\tone\ta.csv\tkept",
    );
    const window = await query(
      service,
      "SELECT engine_full LIKE '%non_replicated_deduplication_window = 1%' FROM system.tables WHERE name = 'existing'",
    );
    expect(window).toBe("1");
  });

  test("loads Parquet that the engine wrote", async () => {
    const { accessKeyId, secretKey } = store.accessKey;
    const target = `s3('${store.endpoint}/${store.bucket}/parquet/all.parquet', '${accessKeyId}', '${secretKey}', 'Parquet')`;
    await query(
      service,
      `INSERT INTO FUNCTION ${target} SELECT number AS id, toString(number) AS name FROM numbers(100000)`,
    );
    const pipe = await createPipe("parquet/*", "from_parquet", {
      destination: { tableDefinition: { sortingKey: ["id"], partitionBy: "id % 4", engine: { type: "MergeTree" } } },
    });
    await finished(pipe.id);
    expect(await summary("from_parquet")).toBe(expected(100_000));
  });

  test("a broken object is recorded and blocks nothing", async () => {
    await store.put("bad/1.json", jsonRows(0, 10));
    await store.put("bad/2.json", '{"id": "not a number", "name": "x"}');
    await store.put("bad/3.json", jsonRows(10, 10));
    const pipe = await createPipe("bad/*.json", "with_bad");
    await finished(pipe.id);
    expect(await summary("with_bad")).toBe(expected(20));
    expect(await query(service, "SELECT origin FROM with_bad_pipes_error")).toBe(`${store.bucket}/bad/2.json`);
    expect((await details(pipe.id)).progress).toMatchObject({ filesLoaded: 2, filesFailed: 1, errors: 1 });
  });

  test("what is wrong with the source or the destination is said at once, and nothing is created", async () => {
    const refused = async (pattern: string, table: string, change: Change = {}) => {
      const error = await createPipe(pattern, table, change).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      return error as { status: number; code: string; message: string };
    };
    expect(
      await refused("x/*.json", "t", { source: { url: `${store.endpoint}/no-such-bucket/*.json` } }),
    ).toMatchObject({
      ...{ status: 400, code: "SOURCE_INVALID", message: expect.stringContaining("no-such-bucket does not exist") },
    });
    expect(await refused("x/*.json", "t", { source: { url: "http://127.0.0.1:1/bucket/*.json" } })).toMatchObject({
      ...{ status: 400, code: "SOURCE_UNREACHABLE", message: expect.stringContaining("127.0.0.1:1") },
    });
    expect(await refused("json/*.json", "from_json")).toMatchObject({ status: 400, code: "DESTINATION_INVALID" });
    expect(await refused("json/*.json", "absent", { destination: { managedTable: false } })).toMatchObject({
      ...{ status: 400, message: expect.stringContaining("default.absent does not exist") },
    });
    expect(await query(service, "EXISTS t")).toBe("0");
  });
});

describe("a continuous pipe", () => {
  test("follows new objects, stops and starts where it was, and can be deleted without its table", async () => {
    await store.put("live/000.json", jsonRows(0, 10));
    const pipe = await createPipe("live/*.json", "live", {
      source: { isContinuous: true },
      settings: { object_storage_polling_interval_ms: 100 },
    });
    const params = { ...service.params, pipeId: pipe.id };
    const rows = (count: number) => until(`${count} rows`, async () => (await summary("live")) === expected(count));
    await until("the table", async () => (await query(service, "EXISTS live")) === "1");
    await rows(10);
    await store.put("live/001.json", jsonRows(10, 10));
    await rows(20);
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await until("stopped", async () => (await details(pipe.id)).state === "Stopped");
    await store.put("live/002.json", jsonRows(20, 10));
    await served.api.updatePipeState({ params, body: { command: "start" } });
    await rows(30);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("the pipe rests", async () => (await details(pipe.id)).state === "Stopped");
    await store.put("live/003.json", jsonRows(30, 10));
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await until("running", async () => (await details(pipe.id)).state === "Running");
    await rows(40);
    await served.api.deletePipe({ params });
    await expect(details(pipe.id)).rejects.toMatchObject({ status: 404 });
    expect(await summary("live")).toBe(expected(40));
  });
});

test("a destination table that was dropped is made again, and the pipe says so until it is started again", async () => {
  await store.put("dropped/0.json", jsonRows(0, 10));
  const pipe = await createPipe("dropped/*.json", "dropped", { source: { isContinuous: true } });
  const params = { ...service.params, pipeId: pipe.id };
  const state = async () => (await details(pipe.id)).state;
  const command = async (word: "stop" | "start") => {
    await served.api.updatePipeState({ params, body: { command: word } });
    if (word === "stop") await until("stopped", async () => (await state()) === "Stopped");
  };
  await until("loaded", async () => (await summary("dropped").catch(() => "")) === expected(10));
  await command("stop");
  await query(service, "DROP TABLE dropped");
  await command("start");
  await until("said", async () => (await state()) === "Degraded");
  expect((await details(pipe.id)).lastError).toMatch(/did not exist any more and was made again/);
  await command("stop");
  await command("start");
  await until("confirmed", async () => (await state()) === "Running");
  await served.api.deletePipe({ params });
});

describe("exactly once", () => {
  test("under kill -9 of worker, engine and control plane in turn, also through a materialized view", async () => {
    const files = 60;
    const rowsPerFile = 20_000;
    for (let i = 0; i < files; i += 1) await store.put(`much/${i}.json`, jsonRows(i * rowsPerFile, rowsPerFile));
    await query(service, "CREATE TABLE much (id UInt64, name String) ORDER BY id");
    await query(service, "CREATE TABLE much_copy (id UInt64) ORDER BY id");
    await query(service, "CREATE MATERIALIZED VIEW much_view TO much_copy AS SELECT id FROM much");
    const pipe = await createPipe("much/*.json", "much", {
      destination: { managedTable: false },
      settings: { object_storage_max_file_count: 3 },
    });
    const victims = [
      () => kill(`${served.dataDir}/pipes/${pipe.id}.pid`),
      () => kill(`${served.dataDir}/services/${service.id}/engine.pid`),
      async () => {
        served = await served.restartAfterKill();
      },
    ];
    let kills = 0;
    for (let loaded = 0; (await details(pipe.id)).state !== "Completed"; ) {
      const now = (await details(pipe.id)).progress.filesLoaded ?? 0;
      if (now > loaded) {
        loaded = now;
        await victims[kills % victims.length]?.();
        kills += 1;
      }
      await until("a change", async () => {
        const { state, progress } = await details(pipe.id);
        return state === "Completed" || (progress.filesLoaded ?? 0) > loaded;
      });
    }
    expect(kills).toBeGreaterThanOrEqual(6);
    expect(await summary("much")).toBe(expected(files * rowsPerFile));
    expect(await summary("much_copy")).toBe(expected(files * rowsPerFile));
  }, 240_000);
});

function kill(pidFile: string): void {
  try {
    process.kill((JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number }).pid, "SIGKILL");
  } catch {
    // The process is not running; the next attempt finds it.
  }
}
