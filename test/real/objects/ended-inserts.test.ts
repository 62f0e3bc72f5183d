/** The engine goes on with an insert whose connection is closed: what nobody waits for any more writes nothing. */

import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startVersitygw, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, type PipeBody, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const all = 4_000_000;
const part = 200_000;
let store: TestStore;
let served: Served;
let service: BenchService;
beforeAll(async () => {
  store = await startVersitygw();
  served = await serve();
  service = await runningService(served, { idleScaling: false });
  const parts = Array.from({ length: all / part }, (_, at) => gzipSync(`${rows(at * part, at * part + part)}\n`));
  await store.put("data/large.json.gz", Buffer.concat(parts));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** A pipe whose only insert has written some rows, and goes on for seconds: a view takes its time for each block. */
async function amidAnInsert(table: string): Promise<string> {
  await query(service, `CREATE TABLE ${table} (id UInt64, name String) ENGINE = MergeTree ORDER BY id`);
  await query(service, `CREATE TABLE ${table}_slow (slept UInt8) ENGINE = Null`);
  await query(
    service,
    `CREATE MATERIALIZED VIEW ${table}_v TO ${table}_slow AS SELECT sleep(0.3) AS slept FROM ${table}`,
  );
  const settings = {
    object_storage_concurrency: 1,
    database_max_threads: 1,
    database_min_insert_block_size_bytes: 10_000_000,
  };
  const id = await createPipe(served, service, pipeBody(store, "data/*", table, { body: { settings } }) as PipeBody);
  await until("rows are visible", async () => (await counted(table)) > 0);
  return id;
}

const counted = async (table: string) => Number(await query(service, `SELECT count() FROM ${table}`).catch(() => 0));
const command = (pipeId: string, body: object) =>
  served.api.updatePipeState({ params: { ...service.params, pipeId }, body: body as never });

test("resync with truncate amid an insert leaves each row once", async () => {
  const id = await amidAnInsert("again");
  await command(id, { command: "resync", rows: "truncate" });
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT count(), uniqExact(id) FROM again")).toBe(`${all}\t${all}`);
});

test("a pipe that is Stopped writes nothing more, and continues whole", async () => {
  const id = await amidAnInsert("stopped");
  await command(id, { command: "stop" });
  await untilState(served, service, id, "Stopped");
  const written = await counted("stopped");
  // Several blocks of an insert that goes on.
  await delay(1_500);
  expect(await counted("stopped")).toBe(written);
  await command(id, { command: "start" });
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT count(), uniqExact(id) FROM stopped")).toBe(`${all}\t${all}`);
});
