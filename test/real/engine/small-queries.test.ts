/** What the fast paths of small queries must not change: their bytes, their ids, and concurrent queries. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";
import { until } from "../../../harness/serve.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

describe("results of every size", () => {
  // A pipe holds 64 KiB, a response is buffered up to 1 MiB.
  test.each([0, 1, 65_535, 65_536, 65_537, 200_000, 1_048_576, 1_048_577, 5_000_000])("%i bytes", async (size) => {
    for (const wait_end_of_query of ["0", "1"]) {
      const { text } = await stage.query(`SELECT 'a' FROM numbers(${size}) FORMAT RawBLOB`, { wait_end_of_query });
      expect(text.length).toBe(size);
      expect(text.replaceAll("a", "")).toBe("");
    }
  });
});

describe("ids of queries", () => {
  test.each([["a'b\"c`d\\e"], ["--max_threads=1"], ["a=b;SELECT 1"], [" x "], ["é 😀"]])(
    "%j is kept as it is",
    async (id) => {
      const own = "SELECT query_id FROM system.processes FORMAT JSONCompactEachRow";
      expect(JSON.parse(await stage.ok(own, { query_id: id }))).toEqual([id]);
    },
  );

  test("a query without one runs under the id of its answer, and no two are the same", async () => {
    const guardQuery = async () => {
      const { text, headers } = await stage.query("SELECT query_id FROM system.processes");
      const id = headers.get("x-clickhouse-query-id") ?? "";
      expect(text.split("\n")).toContain(id);
      return id;
    };
    const ids = [
      await guardQuery(),
      await guardQuery(),
      ...(await Promise.all(Array.from({ length: 20 }, guardQuery))),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test("a verdict on a statement is the same every time", async () => {
  for (let round = 0; round < 3; round += 1) {
    expect(await stage.ok("SELECT 1")).toBe("1");
    expect((await stage.query("SELECT 1; SELECT 2")).text).toContain("Code: 62");
    expect(
      (await stage.query("", { query: "CREATE TABLE nothing (a Int8) ENGINE = Memory" }, { method: "GET" })).status,
    ).not.toBe(200);
    expect((await stage.query("SELEC 1")).text).toContain("Code: 62");
  }
});

test("the engine can measure its threads, instead of failing to at each of them", async () => {
  const spent = "SELECT value > 0 FROM system.events WHERE event = 'OSCPUVirtualTimeMicroseconds'";
  expect(await stage.ok(spent)).toBe("1");
});

test("many inserts at once: all arrive, and a KILL QUERY comes through meanwhile", async () => {
  const inserts = 14;
  const mib = 8;
  await stage.ok("CREATE TABLE target (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
  await stage.ok("CREATE MATERIALIZED VIEW slow ENGINE = Null AS SELECT sleepEachRow(0.0005) AS x FROM target");
  const piece = Buffer.from(`${JSON.stringify({ a: 1, s: "s".repeat(1000) })}\n`.repeat(1_036));
  const body = async function* () {
    for (let i = 0; i < mib; i += 1) yield piece;
  };
  // Blocks of 1,000 rows, each of which delays the insert by half a second.
  const blocks = { max_block_size: "1000", max_insert_block_size: "1000", input_format_parallel_parsing: "0" };
  const atOnce = { min_insert_block_size_rows: "0", min_insert_block_size_bytes: "0" };
  const insert = async (query_id: string) => {
    const params = { query: "INSERT INTO target FORMAT JSONEachRow", query_id, ...blocks, ...atOnce };
    const init = { body: ReadableStream.from(body()), duplex: "half" } as RequestInit;
    return (await stage.query("", params, init)).text;
  };
  const answers = Promise.all(Array.from({ length: inserts }, (_, i) => insert(`insert ${i}`)));
  const seen = "SELECT count() FROM system.processes WHERE query_id LIKE 'insert %'";
  await until("all are under way", async () => Number(await stage.ok(seen)) === inserts);
  await stage.ok("KILL QUERY WHERE query_id = 'insert 3' SYNC");
  const texts = await answers;
  expect(texts[3]).toContain("Code: 394");
  expect(texts.filter((text) => text !== "")).toHaveLength(1);
  const rows = Number(await stage.ok("SELECT count() FROM target"));
  expect(rows).toBeGreaterThanOrEqual((inserts - 1) * mib * 1_036);
}, 60_000);
