/** What create says about a Postgres source that is not fit: every problem at once, with its member and its remedy. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { postgresMissing, postgresVersions, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { runningService, type Served, serve } from "../../../../harness/serve.ts";
import { ClickHouseClient } from "../../../clickhouse/client.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Json } from "../../../lib/json.ts";
import { CheckRun } from "../../contract/checks.ts";
import type { CheckOptions } from "../../contract/source.ts";
import type { RelationalDbConfig } from "../declaration/kind.ts";
import { knownPipe } from "./known-pipe.ts";
import { preflight } from "./preflight.ts";

const never = new AbortController().signal;
const usable = postgresVersions.filter((version) => {
  const missing = postgresMissing(version);
  if (missing !== undefined) console.log(`skipped: ${missing}`);
  return missing === undefined;
});

type Mapping = RelationalDbConfig["tableMappings"][number];
type More = Omit<Partial<RelationalDbConfig>, "tableMappings">;

let served: Served;
let engine: ClickHouseClient;
const query = async (sql: string, options = {}) =>
  await engine.rows(sql, options).catch((error: Error) => {
    throw new AppError("SOURCE_INVALID", error.message);
  });

beforeAll(async () => {
  served = await serve();
  const { host, port, password } = await runningService(served);
  engine = new ClickHouseClient({ host, port, user: "default", password });
});
afterAll(async () => {
  engine.close();
  await served[Symbol.asyncDispose]();
});

function mapping(sourceTable: string, more: Partial<Mapping> = {}): Mapping {
  return { sourceSchemaName: "public", sourceTable, targetTable: `t_${sourceTable}`, ...more };
}

/** What is wrong, as `path: message` below `source.relationalDb`; empty when the pipe may be created. */
async function problems(
  server: TestPostgres,
  mappings: Mapping[],
  more: More = {},
  pipe?: { readonly pipeId: string; readonly marks: CheckOptions["marks"] },
): Promise<string[]> {
  const { host, port, user, password, database } = server;
  const config: RelationalDbConfig = {
    ...{ host, port, database, disableTls: true, credentials: { username: user, password } },
    ...more,
    tableMappings: mappings,
  };
  try {
    const known = pipe && (await knownPipe(config, pipe.pipeId, { marks: pipe.marks, stored: undefined }));
    await preflight({ config, network: anyNetwork }, { database: "default", query, known, run: new CheckRun() }, never);
    return [];
  } catch (error) {
    const { code, issues = [], message } = error as AppError;
    expect(code).toMatch(/^SOURCE_/);
    for (const { path } of issues) expect(message).toContain(path);
    return issues.map(({ path, message: text }) => `${path.replace("source.relationalDb.", "")}: ${text}`);
  }
}

describe.each(usable)("pre-flight checks on Postgres %i", (version) => {
  let server: TestPostgres;

  beforeAll(async () => {
    server = await TestPostgres.start({ version });
    await server.sql(`
      CREATE TABLE good (id int PRIMARY KEY, name text, twice int GENERATED ALWAYS AS (id * 2) STORED);
      CREATE TABLE keyless (id int);
      CREATE TABLE keyless_full (id int);
      ALTER TABLE keyless_full REPLICA IDENTITY FULL;
      CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE);
      CREATE TABLE nothing (id int PRIMARY KEY);
      ALTER TABLE nothing REPLICA IDENTITY NOTHING;
      CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY);
      CREATE VIEW looks AS SELECT 1 AS id;
      CREATE TABLE secured (id int PRIMARY KEY);
      ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
      CREATE TABLE parts (id int, day int) PARTITION BY RANGE (day);
      CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
      ALTER TABLE parts REPLICA IDENTITY FULL;
      CREATE TABLE keyed_parts (id int, day int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
      CREATE TABLE keyed_parts_1 PARTITION OF keyed_parts FOR VALUES FROM (0) TO (10);
      CREATE ROLE reader LOGIN PASSWORD 'r' REPLICATION;
      CREATE ROLE plain LOGIN PASSWORD 'p';
      GRANT USAGE ON SCHEMA public TO reader, plain;
      GRANT SELECT ON good, secured TO plain;
      GRANT CREATE ON DATABASE postgres TO plain;
    `);
    await server.sql("CREATE DATABASE other");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("a fit source passes, in each mode", async () => {
    const tables = [mapping("good"), mapping("keyless_full"), mapping("keyed_parts")];
    expect(await problems(server, tables)).toEqual([]);
    for (const replicationMode of ["snapshot", "cdc_only"] as const) {
      expect(await problems(server, tables, { settings: { replicationMode } })).toEqual([]);
    }
  });

  test("tables: missing, of other kinds, without a key, hidden; all reported together", async () => {
    const names = ["absent", "looks", "keyless", "nothing", "unlogged", "parts"];
    const found = await problems(server, [
      ...names.map((name) => mapping(name)),
      mapping("good"),
      mapping("good", { targetTable: "b" }),
    ]);
    expect(found).toEqual([
      'tableMappings.0.sourceTable: table "public"."absent" does not exist in database "postgres"',
      'tableMappings.1.sourceTable: "public"."looks" is a view; only tables can be replicated',
      'tableMappings.2.sourceTable: "public"."keyless" has no primary key: add one, or ALTER TABLE "public"."keyless" REPLICA IDENTITY FULL',
      expect.stringMatching(/^tableMappings.3.sourceTable: .*REPLICA IDENTITY NOTHING.*REPLICA IDENTITY DEFAULT$/),
      expect.stringMatching(/^tableMappings.4.sourceTable: .*unlogged.*SET LOGGED$/),
      expect.stringMatching(
        /^tableMappings.5.sourceTable: partitions of .* REPLICA IDENTITY FULL of their own: .*parts_1$/,
      ),
      'tableMappings.7.sourceTable: "public"."good" is mapped twice',
    ]);
    expect(await problems(server, [mapping("deferred")])).toEqual([
      expect.stringMatching(/primary key of .* is deferrable.*NOT DEFERRABLE/),
    ]);
    // The snapshot alone needs no key and no log.
    const snapshot = { settings: { replicationMode: "snapshot" } } as const;
    const only = ["keyless", "nothing", "unlogged", "parts"].map((name) => mapping(name));
    expect(await problems(server, only, snapshot)).toEqual([]);
  });

  test("columns: excluded and sorting keys exist, and what is needed is not left out", async () => {
    const sortingKeys = ["name", "gone", "twice", "name"];
    const good = mapping("good", {
      excludedColumns: ["absent", "id", "name"],
      useCustomSortingKey: true,
      sortingKeys,
    });
    expect(await problems(server, [good])).toEqual([
      'tableMappings.0.excludedColumns.0: "public"."good" has no column "absent"',
      'tableMappings.0.excludedColumns.1: "id" is part of the key and cannot be left out',
      'tableMappings.0.excludedColumns.2: "name" is a sorting key and cannot be left out',
      expect.stringMatching(/^tableMappings.0.sortingKeys.0: "name" is not part of the key.*REPLICA IDENTITY FULL$/),
      'tableMappings.0.sortingKeys.1: "public"."good" has no column "gone"',
      'tableMappings.0.sortingKeys.2: "twice" is generated, and such columns are not replicated',
      'tableMappings.0.sortingKeys.3: "name" is named twice',
    ]);
    const sorted = mapping("keyless_full", { useCustomSortingKey: true, sortingKeys: ["id"] });
    expect(await problems(server, [sorted])).toEqual([]);
    expect(await problems(server, [mapping("keyless_full", { excludedColumns: ["id"] })])).toContain(
      "tableMappings.0.excludedColumns: no column is left",
    );
  });

  test("rights: reading, row security, ownership, replication", async () => {
    const reader = { credentials: { username: "reader", password: "r" } };
    expect(await problems(server, [mapping("good")], reader)).toEqual([
      'tableMappings.0.sourceTable: user "reader" may not read the table: GRANT SELECT ON "public"."good" TO "reader"',
      expect.stringMatching(
        /^settings.publicationName: user "reader" may not create a publication: GRANT CREATE ON DATABASE/,
      ),
      expect.stringMatching(
        /^settings.publicationName: user "reader" does not own "public"."good" .*let the owner create/,
      ),
    ]);
    const plain = { credentials: { username: "plain", password: "p" } };
    const found = await problems(server, [mapping("good"), mapping("secured")], plain);
    expect(found[0]).toMatch(/^credentials: user "plain" has no replication right: ALTER ROLE "plain" REPLICATION/);
    expect(found[1]).toMatch(/^tableMappings.1.sourceTable: row security hides rows .*BYPASSRLS$/);
    expect(found).toHaveLength(3);
    expect(await problems(server, [mapping("good")], { ...plain, settings: { replicationMode: "snapshot" } })).toEqual(
      [],
    );
  });

  test("a table that is added to a pipe: its publication may take it, and its destination table is the pipe's own", async () => {
    await server.sql("GRANT SELECT ON good, keyless_full TO plain; ALTER ROLE plain REPLICATION");
    await server.sql(`CREATE TABLE own (id int PRIMARY KEY); ALTER TABLE own OWNER TO plain;
      CREATE PUBLICATION "millrace_a_b" FOR TABLE keyless_full; ALTER PUBLICATION "millrace_a_b" OWNER TO plain`);
    const plain = { credentials: { username: "plain", password: "p" } };
    const change = async (names: string[], marks: Record<string, Json>) =>
      await problems(
        server,
        names.map((name) => mapping(name)),
        plain,
        { pipeId: "a-b", marks: async () => marks },
      );
    expect(await change(["own", "keyless_full"], {})).toEqual([]);
    expect(await change(["own", "good"], {})).toEqual([
      'tableMappings.1.sourceTable: user "plain" does not own "public"."good" and cannot add it to the publication of the pipe; let a superuser run ALTER PUBLICATION "millrace_a_b" ADD TABLE "public"."good"',
    ]);
    const filled = (comment: string) =>
      engine.command(`CREATE OR REPLACE TABLE t_own ENGINE = MergeTree ORDER BY id COMMENT '${comment}'
        AS SELECT 1::Int32 AS id, 0::UInt128 AS _version, 0::UInt8 AS _deleted`);
    const refusal =
      "tableMappings.0.targetTable: default.t_own exists and is not empty; drop or empty it, or choose another name";
    await filled("Made by a Millrace pipe, copy a");
    expect(await change(["own"], {})).toEqual([refusal]);
    // The pipe has had it: a new copy takes its place.
    expect(await change(["own"], { "table:t_own": null })).toEqual([]);
    await filled("of somebody else");
    expect(await change(["own"], { "table:t_own": null })).toEqual([refusal]);
    // The pipe has begun with it.
    expect(await change(["own"], { "table:t_own": {} })).toEqual([]);
    await engine.command("DROP TABLE t_own SYNC");
    await server.sql('DROP PUBLICATION "millrace_a_b"; DROP TABLE own; ALTER ROLE plain NOREPLICATION');
  });

  test("a given publication publishes everything of every table", async () => {
    await server.sql(`
      CREATE PUBLICATION parted FOR TABLE good (id), keyless_full WHERE (id > 5) WITH (publish = 'insert, update');
      CREATE PUBLICATION flat FOR TABLE keyed_parts;
      CREATE PUBLICATION rooted FOR TABLE keyed_parts WITH (publish_via_partition_root = true);
      CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)`);
    const given = (publicationName: string) => ({ settings: { publicationName } });
    expect(await problems(server, [mapping("good")], given("absent"))).toEqual([
      'settings.publicationName: publication "absent" does not exist in database "postgres": CREATE PUBLICATION "absent" FOR TABLE "public"."good"',
    ]);
    expect(
      await problems(
        server,
        ["good", "keyless_full", "nothing"].map((name) => mapping(name)),
        given("parted"),
      ),
    ).toEqual([
      expect.stringMatching(/^tableMappings.2.sourceTable: .*NOTHING/),
      expect.stringMatching(
        /^settings.publicationName: publication "parted" does not publish delete, truncate: ALTER PUBLICATION/,
      ),
      expect.stringMatching(/^tableMappings.0.excludedColumns: the publication leaves out name of /),
      expect.stringMatching(/^tableMappings.1.sourceTable: the publication leaves out rows of .*id > 5/),
      'tableMappings.2.sourceTable: "public"."nothing" is not in the publication: ALTER PUBLICATION "parted" ADD TABLE "public"."nothing"',
    ]);
    expect(await problems(server, [mapping("keyed_parts")], given("flat"))).toEqual([
      expect.stringMatching(/is partitioned: ALTER PUBLICATION "flat" SET \(publish_via_partition_root = true\)$/),
    ]);
    expect(await problems(server, [mapping("keyed_parts")], given("rooted"))).toEqual([]);
    expect(await problems(server, [mapping("keyed_parts"), mapping("good")], given("everything"))).toEqual([]);
    await server.sql("DROP PUBLICATION parted, flat, rooted, everything");
  });

  test("a given slot exists, is ours to use and has its log", async () => {
    await server.sql(`
      SELECT pg_create_logical_replication_slot('fine', 'pgoutput');
      SELECT pg_create_logical_replication_slot('twophase', 'pgoutput', false, true);
      SELECT pg_create_physical_replication_slot('physical')`);
    await using elsewhere = await server.client({ database: "other" });
    await elsewhere.query("SELECT pg_create_logical_replication_slot('elsewhere', 'pgoutput')");
    const given = (replicationSlotName: string) =>
      problems(server, [mapping("good")], { settings: { replicationMode: "cdc_only", replicationSlotName } });
    expect(await given("fine")).toEqual([]);
    expect(await given("none")).toEqual([
      `settings.replicationSlotName: slot "none" does not exist: SELECT pg_create_logical_replication_slot('none', 'pgoutput')`,
    ]);
    expect(await given("physical")).toEqual([expect.stringMatching(/is physical; a logical one is needed$/)]);
    expect(await given("elsewhere")).toEqual([expect.stringMatching(/belongs to database "other"$/)]);
    expect(await given("twophase")).toEqual([
      expect.stringMatching(/prepared transactions; make it without two_phase$/),
    ]);
    await server.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
  });

  test("failover slots need Postgres 17, and a given slot must be one", async () => {
    const found = await problems(server, [mapping("good")], { settings: { enableFailoverSlots: true } });
    expect(found).toEqual(
      version >= 17 ? [] : ["settings.enableFailoverSlots: needs Postgres 17 or newer; the server is Postgres 16"],
    );
    if (version < 17) return;
    await server.sql("SELECT pg_create_logical_replication_slot('stays_behind', 'pgoutput')");
    const mode = { replicationMode: "cdc_only" } as const;
    const settings = { enableFailoverSlots: true, replicationSlotName: "stays_behind", ...mode };
    expect(await problems(server, [mapping("good")], { settings })).toEqual([
      expect.stringMatching(/^settings.enableFailoverSlots: slot "stays_behind" was made without failover/),
    ]);
    await server.sql("SELECT pg_drop_replication_slot('stays_behind')");
  });

  test("partitions: of columns of the key, by expressions that the engine takes, of tables that the pipe makes", async () => {
    const parted = (partitionByExpr: string, more: Partial<Mapping> = {}) =>
      problems(server, [mapping("good", { partitionByExpr, ...more })]);
    expect(await parted("intDiv(id, 100)")).toEqual([]);
    expect(await parted("lower(name)", { tableEngine: "MergeTree" })).toEqual([]);
    expect(await parted("lower(name)")).toEqual([
      expect.stringMatching(
        /^tableMappings.0.partitionByExpr: must use columns of the sorting key alone \(id\): an update/,
      ),
    ]);
    expect(await parted("toYYYYMM(gone)")).toEqual([
      "tableMappings.0.partitionByExpr: names gone, which is not a destination column",
    ]);
    expect(await parted("toYYYYMM(id, id, id)")).toEqual([
      expect.stringMatching(/^tableMappings.0.partitionByExpr: is refused by the engine: .*toYYYYMM/),
    ]);
    expect(await parted("id", { tableEngine: "Null" })).toEqual([
      expect.stringMatching(/^tableMappings.0.partitionByExpr: must be absent with tableEngine Null/),
    ]);
    // A pipe that has the table under another mapping is told as well.
    const kept = async () => ({ "table:t_good": { mapping: mapping("good", { partitionByExpr: "id" }) } });
    const changed = (partitionByExpr: string) =>
      problems(server, [mapping("good", { partitionByExpr })], {}, { pipeId: "a", marks: kept });
    expect(await changed("intDiv(id, 2)")).toEqual([]);
    expect(await changed("rand()")).toEqual(["tableMappings.0.partitionByExpr: must not call the function rand"]);
    await engine.command(`CREATE TABLE t_good (id Int64, name String, _version UInt128, _deleted UInt8)
      ENGINE = MergeTree ORDER BY id`);
    expect(await parted("id")).toEqual([
      "tableMappings.0.partitionByExpr: cannot be applied to default.t_good, which exists; drop it, or leave this out",
    ]);
    await engine.command("DROP TABLE t_good SYNC");
  });

  test("destination tables are absent, or empty and fit", async () => {
    for (const [name, rest] of Object.entries({
      t_good: "(id Int64, name String, _version UInt128, _deleted UInt8) ENGINE = MergeTree ORDER BY id",
      t_good_narrow: "(id Int16, name FixedString(9), _version UInt128, _deleted UInt8) ENGINE = MergeTree ORDER BY id",
      t_keyless_full: "(other Int32) ENGINE = MergeTree ORDER BY other",
      t_keyed_parts: "(id Int32, day Int32) ENGINE = Memory",
    })) {
      await engine.command(`DROP TABLE IF EXISTS ${name} SYNC`);
      await engine.command(`CREATE TABLE ${name} ${rest}`);
    }
    const tables = ["good", "keyless_full", "keyed_parts"].map((name) => mapping(name));
    await engine.command("INSERT INTO t_keyless_full VALUES (1)");
    expect(await problems(server, tables)).toEqual([
      "tableMappings.1.targetTable: default.t_keyless_full exists and is not empty; drop or empty it, or choose another name",
      "tableMappings.1.targetTable: default.t_keyless_full exists and has no column id, _version, _deleted; drop it, or add them",
      "tableMappings.2.targetTable: default.t_keyed_parts exists and is a Memory; it must be a MergeTree table, or not exist",
    ]);
    const narrow = { ...mapping("good"), targetTable: "t_good_narrow" };
    const head = "tableMappings.0.targetTable: default.t_good_narrow exists with";
    const tail = "drop it, or widen the column";
    expect(await problems(server, [narrow])).toEqual([
      `${head} id Int16, which does not take every Int32; ${tail}`,
      `${head} name FixedString(9), which does not take every String; ${tail}`,
    ]);
    for (const name of ["t_good", "t_good_narrow", "t_keyless_full", "t_keyed_parts"]) {
      await engine.command(`DROP TABLE ${name} SYNC`);
    }
  });

  test("an unfit server: log level, slots and senders, each with its remedy", async () => {
    const settings = { wal_level: "replica", max_wal_senders: "0", max_replication_slots: "1" };
    await using poor = await TestPostgres.start({ version, settings });
    await poor.sql("CREATE TABLE good (id int PRIMARY KEY); SELECT pg_create_physical_replication_slot('taken')");
    expect(await problems(poor, [mapping("good")])).toEqual([
      expect.stringMatching(/^host: wal_level is "replica" and must be "logical"; set wal_level = logical and restart/),
      expect.stringMatching(/^host: all 1 replication slots are taken; .*raise max_replication_slots/),
      expect.stringMatching(/^host: no WAL sender is free .*raise max_wal_senders/),
    ]);
    expect(await problems(poor, [mapping("good")], { settings: { replicationMode: "snapshot" } })).toEqual([]);
  });
});
