/** A service above its disk quota: what needs more disk waits, what frees disk still runs, and nothing is lost. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFauxqs } from "../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows, untilDegraded, untilState } from "../../harness/pipes.ts";
import { pushPipe, send } from "../../harness/push/pipes.ts";
import { exportJson, logsOf, nanos, telemetryPipe } from "../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../harness/serve.ts";

let served: Served;
let service: BenchService;

const createBig = "CREATE TABLE big (s String CODEC(NONE)) ENGINE = MergeTree ORDER BY tuple()";
const refused = /Code: 243.*\(diskGb\) is 1 GiB.*NOT_ENOUGH_SPACE/s;

async function fill(): Promise<void> {
  await query(
    service,
    "INSERT INTO big SELECT repeat('x', 10000) FROM numbers(110000) SETTINGS max_block_size = 10000",
  );
  await until("the service is full", async () => {
    return (await shown()).stateMessage?.includes("diskGb") === true;
  });
}

async function shown() {
  return await served.api.getService({ params: service.params });
}

async function untilRoom(): Promise<void> {
  await until("there is room", async () => {
    return await query(service, "INSERT INTO small VALUES (0)").then(
      () => true,
      () => false,
    );
  });
}

describe("above the quota of disk", () => {
  beforeAll(async () => {
    served = await serve({ env: { MILLRACE_SERVICE_DISK_GB: "1" } });
    service = await runningService(served);
    await query(service, createBig);
    await query(service, "CREATE TABLE small (a UInt64) ENGINE = MergeTree ORDER BY a PARTITION BY a % 2");
  });
  afterAll(() => served?.[Symbol.asyncDispose]());

  test("what grows the service is refused with the reason, and the rest goes on until there is room", async () => {
    await query(service, "INSERT INTO small VALUES (1), (2)");
    expect(await shown()).toMatchObject({ diskGb: 1, state: "running" });
    await fill();
    const growing = [
      "INSERT INTO small VALUES (3)",
      "INSERT INTO small SELECT 3",
      "INSERT INTO small FORMAT CSV\n3",
      "INSERT INTO small SETTINGS async_insert = 1, wait_for_async_insert = 0 FORMAT CSV\n3",
      "CREATE TABLE copy ENGINE = MergeTree ORDER BY a AS SELECT * FROM small",
      "CREATE TABLE copy CLONE AS small",
      "CREATE MATERIALIZED VIEW v ENGINE = MergeTree ORDER BY a POPULATE AS SELECT a FROM small",
      "ALTER TABLE small UPDATE a = 3 WHERE 1",
      "ALTER TABLE small REPLACE PARTITION 1 FROM small",
      "ALTER TABLE small DELETE WHERE a = 9, UPDATE a = 3 WHERE 1",
    ];
    for (const sql of growing) await expect(query(service, sql), sql).rejects.toThrow(refused);
    expect(await query(service, "SELECT count() FROM small")).toBe("2");
    const others = [
      "CREATE TABLE empty (a UInt64) ENGINE = MergeTree ORDER BY a",
      "CREATE VIEW seen AS SELECT a FROM small",
      "ALTER TABLE small DELETE WHERE a = 9",
      "DELETE FROM small WHERE a = 9",
      "ALTER TABLE small DROP PARTITION 0",
      "OPTIMIZE TABLE small FINAL",
      "DROP TABLE empty SYNC",
    ];
    for (const sql of others) await expect(query(service, sql), sql).resolves.toBe("");
    const metrics = await (await fetch(new URL("/metrics", served.credentials.baseUrl))).text();
    expect(metrics).toMatch(/^Service_DiskUsed_Bytes\{.*\} 1\.?1\d+/m);
    expect(metrics).toMatch(/^Service_DiskLimit_Bytes\{.*\} 1073741824$/m);
    await query(service, "TRUNCATE TABLE big");
    await untilRoom();
    expect((await shown()).stateMessage).toBeUndefined();
  });

  test("a higher quota holds without a new start of the engine, and a lower one too", async () => {
    await fill();
    const uptime = async () => Number(await query(service, "SELECT uptime()"));
    const before = await uptime();
    await served.api.updateService({ params: service.params, body: { diskGb: 2 } });
    await untilRoom();
    await served.api.updateService({ params: service.params, body: { diskGb: 1 } });
    await until("refused again", async () => {
      return await query(service, "INSERT INTO small VALUES (5)").then(
        () => false,
        (error: Error) => refused.test(error.message),
      );
    });
    expect(await uptime()).toBeGreaterThanOrEqual(before);
  });

  test("a service without an engine shows its last use, starts as full as it was, and a dropped table makes room", async () => {
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("stopped", async () => (await shown()).state === "stopped");
    expect((await shown()).diskUsedBytes).toBeGreaterThan(2 ** 30);
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await until("running", async () => (await shown()).state === "running");
    await expect(query(service, "INSERT INTO small VALUES (7)")).rejects.toThrow(refused);
    await query(service, "DROP TABLE big");
    await untilRoom();
    await query(service, createBig);
  });

  test("rows and telemetry that applications send are refused until there is room, and nothing is kept before", async () => {
    const to = await pushPipe(served, service, "pushed");
    const otlp = await telemetryPipe(served, service, "otel");
    const log = logsOf([{ timeUnixNano: nanos(1), body: { stringValue: "one" } }]);
    await fill();
    const full = await send(to, rows(0, 1));
    expect([full.status, full.body.code, full.headers.get("retry-after")]).toEqual([507, "DISK_FULL", "30"]);
    expect(full.body.error).toMatch(/\(diskGb\) is 1 GiB/);
    const telemetry = await exportJson(otlp, "logs", log);
    expect([telemetry.status, telemetry.body.code, telemetry.headers.get("retry-after")]).toEqual([503, 14, "30"]);
    await query(service, "TRUNCATE TABLE big");
    await untilRoom();
    await until("rows are accepted", async () => (await send(to, rows(1, 2), { query: "?wait=true" })).status === 200);
    expect(await query(service, "SELECT groupUniqArray(id) FROM pushed")).toBe("[1]");
    await until("so is telemetry", async () => (await exportJson(otlp, "logs", log)).status === 200);
    await until("it is loaded", async () => (await query(service, "SELECT count() FROM otel.otel_logs")) === "1");
  });

  test("a pipe begins no batch, says why, and loads every row once when there is room", async () => {
    await using store = await startFauxqs();
    for (let file = 0; file < 20; file += 1) await store.put(`q/${file}.json`, rows(file * 10, file * 10 + 10));
    await fill();
    const settings = { object_storage_max_file_count: 1, object_storage_concurrency: 2 };
    const id = await createPipe(served, service, pipeBody(store, "q/*.json", "loaded", { body: { settings } }));
    await untilDegraded(served, service, id, /diskGb/);
    expect(await query(service, "SELECT count() FROM loaded")).toBe("0");
    expect((await details(served, service, id)).progress).toMatchObject({ filesPending: 20 });
    await query(service, "TRUNCATE TABLE big");
    await untilState(served, service, id, "Completed");
    expect(await query(service, "SELECT count(), uniqExact(id) FROM loaded")).toBe("200\t200");
  });
});
