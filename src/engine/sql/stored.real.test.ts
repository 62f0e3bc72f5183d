/** Definitions already on disk: created here by the internal user, who bypasses the guard. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { hasUserFunctions } from "../chdb/configuration.ts";
import { spawnEngineHost } from "../spawn.ts";
import { Guard } from "./guard.ts";
import { guardQueryOf } from "./judge.ts";
import { judgeStored } from "./stored.ts";

let engine: BareEngine;
let secret: string;

beforeAll(async () => {
  engine = await BareEngine.start();
  secret = join(engine.dir, "secret.csv");
  writeFileSync(secret, "topsecret");
});
afterAll(async () => await engine[Symbol.asyncDispose]());

const judge = async () => {
  const guard = new Guard({ guardQuery: guardQueryOf(engine.client) });
  return {
    guard,
    forbidden: await judgeStored(engine.client, guard, { hasFunctions: hasUserFunctions(engine.dataDir) }),
  };
};
const tables = async () =>
  (
    await engine.client.rows<{ name: string }>(
      "SELECT name FROM system.tables WHERE database IN ('d', 'default') ORDER BY name",
    )
  ).map(({ name }) => name);

test("what is allowed stays, in use and in place", async () => {
  for (const statement of [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (a String, b String DEFAULT upper(a)) ENGINE = MergeTree ORDER BY a TTL toDateTime(a) + INTERVAL 1 DAY",
    "CREATE TABLE file (`values` Enum8('it''s' = 1)) ENGINE = Null",
    "CREATE FUNCTION plus_one AS (x) -> x + 1",
    "CREATE FUNCTION plus_two AS (x) -> plus_one(plus_one(x))",
    "CREATE VIEW pv AS SELECT plus_two({x:UInt8})",
    "CREATE MATERIALIZED VIEW d.m ENGINE = MergeTree ORDER BY a AS SELECT a FROM d.t",
    "CREATE DICTIONARY d.dict (a String) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 't' DB 'd')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "CREATE TABLE d.away (a String) ENGINE = MergeTree ORDER BY a",
    "DETACH TABLE d.away PERMANENTLY",
  ]) {
    await engine.client.command(statement);
  }
  expect((await judge()).forbidden).toEqual([]);
  expect(await tables()).toEqual(expect.arrayContaining(["dict", "file", "m", "pv", "t"]));
});

test("an engine that has no memory for the guard takes no definition out of use", async () => {
  const guardQuery = async () => {
    throw clickHouseException("MEMORY_LIMIT_EXCEEDED", "not now");
  };
  const before = await tables();
  const judged = judgeStored(engine.client, new Guard({ guardQuery }), { hasFunctions: true });
  await expect(judged).rejects.toThrow("not now");
  expect(await tables()).toEqual(before);
});

test("two tables that read each other do not spoil the list of all tables, nor the start", async () => {
  await engine.client.command("CREATE TABLE d.m1 (a String) ENGINE = Merge('d', '^m2$')");
  await engine.client.command("CREATE TABLE d.m2 (a String) ENGINE = Merge('d', '^m1$')");
  const list = () => engine.client.rows("SELECT create_table_query FROM system.tables WHERE database = 'd'");
  await expect(list()).rejects.toThrow("TOO_DEEP_RECURSION");
  const { guard, forbidden } = await judge();
  expect(forbidden).toEqual([
    {
      kind: "table",
      name: "m1",
      database: "d",
      reason: expect.stringMatching(/^The engine cannot describe it: Code: 306/),
    },
  ]);
  expect(await list()).toHaveLength(5);
  const asking = { complete: true, params: [], settings: [], readonly: false, get: false };
  await expect(guard.judge({ text: Buffer.from("ATTACH TABLE d.m1"), ...asking })).rejects.toThrow("not available");
  expect((await judge()).forbidden).toEqual([]);
  await engine.client.command("DROP TABLE d.m2 SYNC");
});

test("what is forbidden is named, taken out of use, and does not come back", async () => {
  for (const statement of [
    `CREATE TABLE d.bad (a String, b String DEFAULT file('${secret}')) ENGINE = MergeTree ORDER BY a`,
    "INSERT INTO d.bad (a) VALUES ('row')",
    `CREATE VIEW bad_view AS SELECT file('${secret}')`,
    "CREATE FUNCTION lk AS (x) -> file(x)",
    "CREATE DICTIONARY bad_dict (k UInt64) PRIMARY KEY k SOURCE(EXECUTABLE(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
    `CREATE TABLE d.bad_away (a String DEFAULT file('${secret}')) ENGINE = MergeTree ORDER BY a`,
    "DETACH TABLE d.bad_away PERMANENTLY",
  ]) {
    await engine.client.command(statement);
  }
  const { guard, forbidden } = await judge();
  expect(forbidden.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
    "function lk",
    "table bad",
    "table bad_away",
    "table bad_dict",
    "table bad_view",
  ]);
  expect(forbidden.find(({ name }) => name === "bad")?.reason).toContain("Function file is not available");
  expect(await tables()).not.toContain("bad");
  await expect(engine.client.text("SELECT lk('x')")).rejects.toThrow("lk");
  for (const statement of [
    "ATTACH TABLE d.bad",
    "ATTACH TABLE IF NOT EXISTS bad_view",
    "ATTACH DATABASE d",
    "ATTACH TABLE d.bad_away",
  ]) {
    const asked = {
      text: Buffer.from(statement),
      complete: true,
      params: [],
      settings: [],
      readonly: false,
      get: false,
    };
    await expect(guard.judge(asked), statement).rejects.toThrow("holds what is not available");
  }
});

/** The engine would read the other table without a user. Only the tree tells such a query from that of a view. */
test("what reads another table without a user is forbidden, wherever it is stored", async () => {
  await engine.client.command("CREATE TABLE d.s (a String) ENGINE = Set");
  const parts = [
    ["TTL toDateTime(a) + INTERVAL 1 DAY DELETE WHERE a IN (SELECT a FROM d.t)", "cannot hold a query"],
    ["TTL toDateTime(a) + INTERVAL 1 DAY DELETE WHERE a IN (d.s)", "cannot read another table"],
  ] as const;
  for (const [at, [part]] of parts.entries()) {
    await engine.client.command(`CREATE TABLE d.out${at} (a String) ENGINE = MergeTree ORDER BY a ${part}`);
    await engine.client.command(
      `CREATE MATERIALIZED VIEW d.view${at} ENGINE = MergeTree ORDER BY a ${part} AS SELECT a FROM d.t`,
    );
  }
  const { forbidden } = await judge();
  const reasons = Object.fromEntries(forbidden.map(({ name, reason }) => [name, reason]));
  for (const [at, [, reason]] of parts.entries()) {
    expect(reasons).toMatchObject({
      [`out${at}`]: expect.stringContaining(reason),
      [`view${at}`]: expect.stringContaining(reason),
    });
  }
  expect(await tables()).toContain("m");
  // An engine could not start with them; the table of a view is forbidden as well, and goes with it.
  const ours = forbidden.map(({ name }) => name).filter((name) => !name.startsWith("bad"));
  for (const name of ours) await engine.client.command(`ATTACH TABLE d.\`${name}\``);
  for (const name of ours) await engine.client.command(`DROP TABLE IF EXISTS d.\`${name}\` SYNC`);
});

test("a host takes it out of use before anybody comes in, and its data is there", async () => {
  await engine.client.command("ATTACH TABLE d.bad");
  await engine.stop();
  const host = await spawnEngineHost({
    dataDir: engine.dataDir,
    runDir: join(engine.dir, "host", "run"),
    maxMemoryBytes: 2_000_000_000,
    logLevel: "fatal",
  });
  const client = new ClickHouseClient(host.address);
  await expect(client.text("SELECT count() FROM d.bad")).rejects.toThrow("bad");
  await client.command("ATTACH TABLE d.bad");
  expect(await client.text("SELECT count() FROM d.bad")).toBe("1\n");
  await host.stop(5_000);
});
