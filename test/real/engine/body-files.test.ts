/** Insert data given to the engine as a file. */
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ClickHouseClient } from "../../../src/clickhouse/client.ts";
import { BodyFiles } from "../../../src/engine/body-files.ts";
import { until } from "../../support/serve.ts";
import { Stage } from "./harness.ts";

let stage: Stage;
let client: ClickHouseClient;
let plain: ClickHouseClient;

beforeAll(async () => {
  stage = await Stage.open();
  const { socketPath, bodyDir } = stage.host;
  client = new ClickHouseClient({ socketPath, bodyDir });
  plain = new ClickHouseClient({ socketPath });
});

afterAll(async () => {
  client.close();
  plain.close();
  await stage.close();
});

const left = () => readdirSync(stage.host.bodyDir);
const lines = (count: number) =>
  Buffer.from(Array.from({ length: count }, (_, id) => `{"id":${id},"text":"a\\n\\nSELECT ${id}"}\n\n`).join(""));

test("every row arrives, empty lines and all, and the file is gone", async () => {
  await client.command("CREATE TABLE rows (id UInt64, text String) ENGINE = MergeTree ORDER BY id");
  const { writtenRows } = await client.command("INSERT INTO rows FORMAT JSONEachRow", { body: lines(50_000) });
  expect(writtenRows).toBe(50_000);
  const sums = await client.text("SELECT count(), uniqExact(id), countIf(text = 'a\\n\\nSELECT ' || id) FROM rows");
  expect(sums).toBe("50000\t50000\t50000\n");
  expect(left()).toEqual([]);
});

test("the same data under the same token is one insert, whichever way it comes", async () => {
  await client.command(`CREATE TABLE once (id UInt64, text String) ENGINE = MergeTree ORDER BY id
    SETTINGS non_replicated_deduplication_window = 1000`);
  const settings = {
    async_insert: 0,
    insert_deduplicate: 1,
    insert_deduplication_token: "one",
    max_threads: 1,
    max_insert_threads: 1,
    max_parsing_threads: 2,
    max_insert_block_size: 10_000,
    min_insert_block_size_rows: 10_000,
    min_insert_block_size_bytes: 0,
    min_chunk_bytes_for_parallel_parsing: 100_000,
  };
  const body = lines(200_000);
  for (const way of [plain, client, plain, client]) {
    await way.command("INSERT INTO once FORMAT JSONEachRow", { body, settings });
  }
  expect(await client.text("SELECT count(), uniqExact(id) FROM once")).toBe("200000\t200000\n");
  expect(Number(await client.text("SELECT count() FROM system.parts WHERE table = 'once'"))).toBeGreaterThan(0);
});

test("input() reads a file as well", async () => {
  await client.command("CREATE TABLE chosen (id UInt64) ENGINE = MergeTree ORDER BY id");
  const sql = "INSERT INTO chosen SELECT id * 2 FROM input('id UInt64, text String') WHERE id < 10 FORMAT JSONEachRow";
  await client.command(sql, { body: lines(50_000) });
  expect(await client.text("SELECT count(), max(id) FROM chosen")).toBe("10\t18\n");
});

test("bad data is the engine's error, and the file is gone", async () => {
  const body = Buffer.concat([lines(10_000), Buffer.from("{broken"), Buffer.alloc(100_000, 120)]);
  const failed = client.command("INSERT INTO rows FORMAT JSONEachRow", { body, settings: { async_insert: 0 } });
  await expect(failed).rejects.toThrow(/at row 10000|\(at row 10001\)|row 10001/);
  await until("the file to go", async () => left().length === 0);
});

test("a sender that gives up takes its query and its file with it", async () => {
  await client.command("CREATE TABLE slow (id UInt64, text String) ENGINE = Null");
  await client.command(`CREATE MATERIALIZED VIEW slower ENGINE = Null AS
    SELECT id, sleepEachRow(0.001) AS s FROM slow SETTINGS function_sleep_max_microseconds_per_block = 0`);
  const gone = new AbortController();
  const insert = client.command("INSERT INTO slow FORMAT JSONEachRow", { body: lines(50_000), signal: gone.signal });
  const running = "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO slow%'";
  await until("the insert to run", async () => (await client.text(running)) === "1\n");
  gone.abort();
  await expect(insert).rejects.toThrow();
  await until("the insert to end", async () => (await client.text(running)) === "0\n");
  await until("the file to go", async () => left().length === 0);
});

test("a file that is not there, or not a file of the folder, is refused", async () => {
  const insert = (name: string) =>
    plain.command("INSERT INTO rows FORMAT JSONEachRow", {
      body: Buffer.alloc(0),
      headers: { "x-millrace-body-file": name },
    });
  await expect(insert("00000000-0000-0000-0000-000000000000")).rejects.toThrow(/not there any more/);
  await expect(insert("../../../../etc/passwd")).rejects.toThrow(/not a UUID/);
});

test("a client behind the gateway cannot name a file", async () => {
  const name = "00000000-0000-0000-0000-00000000000a";
  writeFileSync(join(stage.host.bodyDir, name), '{"id":424242}\n');
  const headers = { "X-Millrace-Body-File": name };
  await stage.query("", { query: "INSERT INTO rows FORMAT JSONEachRow" }, { headers });
  expect(await stage.ok("SELECT count() FROM rows WHERE id = 424242")).toBe("0");
  expect(left()).toEqual([name]);
  rmSync(join(stage.host.bodyDir, name));
});

test("without the folder the data goes through the socket", async () => {
  const lost = new ClickHouseClient({ socketPath: stage.host.socketPath, bodyDir: join(stage.dir, "nowhere") });
  const { writtenRows } = await lost.command("INSERT INTO rows FORMAT JSONEachRow", { body: lines(20_000) });
  expect(writtenRows).toBe(20_000);
  lost.close();
});

test("files of senders that died are swept, those of running requests are not", async () => {
  const dir = mkdtempSync(join(tmpdir(), "mr-bodies-"));
  try {
    const files = new BodyFiles(dir);
    const [old, running, young] = ["a", "b", "c"].map((letter) => `00000000-0000-0000-0000-00000000000${letter}`);
    for (const name of [old, running, young]) writeFileSync(join(dir, name as string), "x");
    const hourAgo = new Date(Date.now() - 3_600_000);
    for (const name of [old, running]) utimesSync(join(dir, name as string), hourAgo, hourAgo);
    const taken = files.take(running as string);
    await files.sweep();
    expect(readdirSync(dir)).toEqual([running, young]);
    await taken.done();
    expect(existsSync(taken.path)).toBe(false);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
