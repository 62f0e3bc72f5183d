/** The official Node client, unchanged. */
import { Readable } from "node:stream";
import { type ClickHouseClient, createClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

let stage: Stage;
let client: ClickHouseClient;

describe.each([
  ["on handed-over connections", true],
  ["through the gateway's process", false],
])("@clickhouse/client %s", (_, handsOver) => {
  beforeAll(async () => {
    stage = await Stage.open();
    stage.handsOff = handsOver;
    client = createClient({ url: stage.url, username: "default", password: "secret", request_timeout: 60_000 });
    await client.command({ query: "CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a" });
  });
  afterAll(async () => {
    await client.close();
    expect(stage.leases > 0).toBe(!handsOver);
    await stage.close();
  });

  test("ping, with and without a query", async () => {
    expect(await client.ping()).toMatchObject({ success: true });
    expect(await client.ping({ select: true })).toMatchObject({ success: true });
  });

  test("select with parameters and settings", async () => {
    const result = await client.query({
      query:
        "SELECT {list:Array(String)} AS list, {at:DateTime} AS at, {map:Map(String, UInt8)} AS map, {no:Nullable(Int32)} AS no",
      query_params: { list: ["it's", "a\tb", "\\"], at: "2024-01-02 03:04:05", map: { a: 1 }, no: null },
      clickhouse_settings: { max_threads: 1 },
      format: "JSONEachRow",
    });
    expect(await result.json()).toEqual([
      { list: ["it's", "a\tb", "\\"], at: "2024-01-02 03:04:05", map: { a: 1 }, no: null },
    ]);
    expect(result.query_id).not.toBe("");
  });

  test("insert of a stream and of objects, with compression both ways", async () => {
    const packed = createClient({
      url: stage.url,
      password: "secret",
      compression: { request: true, response: true },
    });
    try {
      const lines = Readable.from(
        (function* () {
          for (let i = 0; i < 50_000; i += 1) yield { a: i, s: `row ${i}` };
        })(),
      );
      await packed.insert({ table: "t", values: lines, format: "JSONEachRow" });
      const { summary } = await packed.insert({ table: "t", values: [{ a: 1, s: "x" }], format: "JSONEachRow" });
      expect(summary?.written_rows).toBe("1");
      const result = await packed.query({ query: "SELECT * FROM t", format: "JSONEachRow" });
      let rows = 0;
      for await (const batch of result.stream()) rows += batch.length;
      expect(rows).toBe(50_001);
    } finally {
      await packed.close();
    }
  });

  test("sessions", async () => {
    const session = createClient({ url: stage.url, password: "secret", session_id: "node", max_open_connections: 1 });
    await session.command({ query: "CREATE TEMPORARY TABLE tt (a Int)" });
    await session.insert({ table: "tt", values: [{ a: 1 }], format: "JSONEachRow" });
    const result = await session.query({ query: "SELECT count() AS n FROM tt", format: "JSONEachRow" });
    expect(await result.json()).toEqual([{ n: 1 }]);
    await session.close();
  });

  test("errors before and after the first row", async () => {
    await expect(client.query({ query: "SELECT * FROM nothing" })).rejects.toMatchObject({
      code: "60",
      type: "UNKNOWN_TABLE",
    });
    const result = await client.query({
      query: "SELECT number, throwIf(number = 2000000, 'boom') FROM numbers(3000000)",
      format: "JSONEachRow",
    });
    const read = async () => {
      for await (const rows of result.stream()) void rows;
    };
    // The client finds the message only where the end of the stream arrives as one piece.
    await expect(read()).rejects.toThrow(/boom|there was an error in the stream/);
  });

  test("wrong password, read-only user", async () => {
    const stranger = createClient({ url: stage.url, username: "default", password: "wrong" });
    await expect(stranger.query({ query: "SELECT 1" })).rejects.toMatchObject({ code: "516" });
    await stranger.close();
    const reader = createClient({ url: stage.url, username: "reader", password: "reader" });
    const result = await reader.query({ query: "SELECT 1 AS x", format: "JSONEachRow" });
    expect(await result.json()).toEqual([{ x: 1 }]);
    await expect(reader.command({ query: "DROP TABLE t" })).rejects.toMatchObject({ code: "164" });
    await reader.close();
  });

  test("abort", async () => {
    const controller = new AbortController();
    const query = client.query({
      query: "SELECT count() FROM numbers(1e12) WHERE NOT ignore(sipHash64(number))",
      abort_signal: controller.signal,
      query_id: "aborted-by-node",
    });
    query.catch(() => {});
    const running = () => stage.ok("SELECT count() FROM system.processes WHERE query_id = 'aborted-by-node'");
    await expect.poll(running).toBe("1");
    controller.abort();
    await expect(query).rejects.toThrow();
    await expect.poll(running).toBe("0");
  });
});
