/** A pipe into a Distributed table over two shards: plain servers, without replicas and Keeper. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { PipeRun } from "../../../harness/clickhouse/pipe-run.ts";
import type { TestServer } from "../../../harness/clickhouse/server.ts";
import { startShards } from "../../../harness/clickhouse/shards.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { pipeBody, rows } from "../../../harness/pipes.ts";
import { until } from "../../../harness/serve.ts";
import { distributedProblem } from "../../../src/clickhouse/distributed.ts";
import { type DestinationTableFacts, findTable } from "../../../src/pipes/tables.ts";
import { missingWindow } from "../../../src/pipes/windows.ts";

let store: TestStore;
const shards: TestServer[] = [];

beforeAll(async () => {
  store = await startFauxqs();
  shards.push(...(await startShards("duo", 2)));
  const table = "(id UInt64, name String) ENGINE =";
  await each(
    `CREATE TABLE stored ${table} MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100000`,
  );
  await each(`CREATE TABLE orders ${table} Distributed('duo', 'default', 'stored', cityHash64(id))`);
});
afterAll(async () => {
  for (const shard of shards) await shard[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

async function each(sql: string): Promise<void> {
  for (const { client } of shards) await client.command(sql);
}

const first = () => shards[0] as TestServer;
const second = () => shards[1] as TestServer;

test("every row is on one shard once after a shard died under the pipe", async () => {
  const files = 6;
  const size = 20_000;
  for (let file = 0; file < files; file += 1) await store.put(`in/${file}.json`, rows(file * size, (file + 1) * size));
  const body = pipeBody(store, "in/*.json", "orders", {
    destination: { managedTable: false, tableDefinition: null },
    // Many small blocks, so that the shard dies in the middle of an insert.
    body: { settings: { object_storage_max_file_count: 1, database_min_insert_block_size_bytes: 20_000 } },
  });
  await using pipe = new PipeRun("orders", body, first().address);
  pipe.start();
  await until(
    "rows arrive at the second shard",
    async () => Number(await second().client.text("SELECT count() FROM stored")) > 0,
  );
  await second().kill();
  await until("the pipe says so", async () => pipe.status?.phase === "degraded");
  await second().restart();
  expect(await pipe.outcome()).toMatchObject({ phase: "completed" });
  const total = files * size;
  expect(await first().client.text("SELECT count(), uniqExact(id), sum(id) FROM orders")).toBe(
    `${total}\t${total}\t${(total * (total - 1)) / 2}\n`,
  );
  const counts = await Promise.all(shards.map(({ client }) => client.text("SELECT count() FROM stored")));
  for (const count of counts) expect(Number(count)).toBeGreaterThan(0);
});

test("the tables behind a Distributed one remember tokens, and so does that of refused rows", async () => {
  await each("CREATE TABLE forgetful (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
  await each("CREATE TABLE over AS forgetful ENGINE = Distributed('duo', 'default', 'forgetful', id)");
  await store.put("few/1.json", rows(0, 10));
  const more = { destination: { managedTable: false, tableDefinition: null } };
  await using pipe = new PipeRun("few", pipeBody(store, "few/*.json", "over", more), first().address);
  pipe.start();
  await pipe.outcome();
  for (const name of ["forgetful", "over_pipes_error"]) {
    const found = await findTable(first().client, "default", name);
    expect(missingWindow(found as DestinationTableFacts)).toBeUndefined();
  }
});

test("a sharding key that spreads a repeated batch otherwise is refused", async () => {
  const problem = async (key: string) => {
    await first().client.command(
      `CREATE OR REPLACE TABLE keyed AS stored ENGINE = Distributed('duo', 'default', 'stored'${key})`,
    );
    return await distributedProblem(
      first().client,
      (await findTable(first().client, "default", "keyed")) as DestinationTableFacts,
    );
  };
  expect(await problem(", cityHash64(id)")).toBeUndefined();
  expect(await problem(", cityHash64(id, 'a, b)')")).toBeUndefined();
  expect(await problem(", rand()")).toContain("contains rand");
  expect(await problem("")).toContain("has no sharding key");
});
