/**
 * Users, roles and grants by statements: the statements of the Terraform provider `clickhousedbops` in their order, and
 * what grants must never give.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, serve, until } from "../../../harness/serve.ts";
import { objectPrivileges, privilegeLevels } from "../../../src/engine/sql/access/privileges.ts";

let served: Served;
let params: { organizationId: string; serviceId: string };
let url: string;
let password: string;

beforeAll(async () => {
  served = await serve();
  const { organizationId } = served.credentials;
  const created = await served.api.createService({
    params: { organizationId },
    body: { name: "sql-users", idleTimeoutMinutes: 5 },
  });
  ({ password } = created);
  params = { organizationId, serviceId: created.service.id };
  await ready();
});
afterAll(() => served?.[Symbol.asyncDispose]());

async function ready(): Promise<void> {
  const service = await until("the service runs", async () => {
    const record = await served.api.getService({ params });
    return record.state === "running" ? record : undefined;
  });
  const [endpoint] = service.endpoints;
  url = `http://${endpoint?.host}:${endpoint?.port}/`;
}

type Login = readonly [user: string, password: string];
const admin = (): Login => ["default", password];

async function send(
  sql: string,
  [user, key]: Login = admin(),
  parameters: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string }> {
  const headers = { "X-ClickHouse-User": user, "X-ClickHouse-Key": key, "X-ClickHouse-Format": "JSONCompactStrings" };
  const response = await fetch(`${url}?${new URLSearchParams(parameters)}`, { method: "POST", body: sql, headers });
  return { status: response.status, text: await response.text() };
}

async function ok(sql: string, login?: Login): Promise<string> {
  const { status, text } = await send(sql, login);
  expect([sql, status, status === 200 ? "" : text]).toEqual([sql, 200, ""]);
  return text;
}

async function rows(sql: string, login?: Login): Promise<string[][]> {
  return JSON.parse((await ok(sql, login)).replaceAll('"ᴺᵁᴸᴸ"', "null")).data;
}

async function refusal(sql: string, login?: Login): Promise<string> {
  const { status, text } = await send(sql, login);
  expect([sql, status]).not.toEqual([sql, 200]);
  return text;
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const alice: Login = ["alice", "alice-secret"];

const secret = "Zq7-never-shown";

// First, on an engine that nothing has restarted: the engine keeps its log of queries until then.
test("no statement about users is in the query log", async () => {
  await ok(`ALTER USER IF EXISTS nobody IDENTIFIED BY '${secret}'`);
  await refusal(`CREATE USER shown IDENTIFIED WITH plaintext_password BY '${secret}'`);
  await ok("SELECT 'so that there is a log'");
  await until("it is logged", async () => {
    const { status, text } = await send("SELECT count() > 0 FROM system.query_log WHERE query LIKE '%there is a log%'");
    return status === 200 && text.includes('["1"]');
  });
  const logged = "query LIKE '%IDENTIFIED%' OR query LIKE '%never-show%'";
  const found = await rows(`SELECT query FROM system.query_log WHERE (${logged}) AND query NOT LIKE 'SELECT query%'`);
  expect(found).toEqual([]);
});

test("a new password is taken at once, and restarts nothing", async () => {
  await ok("CREATE USER rotated IDENTIFIED BY 'the one before'");
  // On the engine that knows the user; it lasts as long as that.
  await ok("CREATE TABLE in_memory ENGINE = Memory AS SELECT 1 AS a");
  await ok("ALTER USER rotated IDENTIFIED BY 'the next one'");
  expect(await refusal("SELECT 1", ["rotated", "the one before"])).toContain("AUTHENTICATION_FAILED");
  expect(await rows("SELECT 1", ["rotated", "the next one"])).toEqual([["1"]]);
  expect(await rows("SELECT a FROM in_memory")).toEqual([["1"]]);
  await ok("DROP TABLE in_memory");
  await ok("DROP USER rotated");
});

describe("a user with every privilege on one database", () => {
  const mallory: Login = ["mallory", "mallory-secret"];
  const onDatabase = [...privilegeLevels].filter(([, level]) => level !== "global").map(([name]) => name);

  beforeAll(async () => {
    await ok("CREATE DATABASE hers");
    await ok("CREATE DATABASE others");
    await ok("CREATE TABLE others.kept (a String, b String DEFAULT 'none') ENGINE = MergeTree ORDER BY a");
    await ok("INSERT INTO others.kept (a) VALUES ('kept-apart')");
    await ok("CREATE TABLE hers.own (a String) ENGINE = MergeTree ORDER BY a");
    await ok(
      "CREATE DICTIONARY others.names (a String, b String) PRIMARY KEY a SOURCE(CLICKHOUSE(DB 'others' TABLE 'kept')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    );
    await ok("CREATE USER mallory IDENTIFIED WITH sha256_password BY 'mallory-secret' HOST ANY");
    const engines = [...(objectPrivileges.get("TABLE ENGINE") ?? [])].map((name) => `TABLE ENGINE ON ${name}`);
    await ok(
      `GRANT ${onDatabase.join(", ")} ON hers.*, ${engines.join(", ")}, CREATE TEMPORARY TABLE ON *.* TO mallory`,
    );
  });

  test("can use it", async () => {
    await ok("CREATE TABLE hers.made (a String) ENGINE = MergeTree ORDER BY a", mallory);
    await ok("INSERT INTO hers.made SETTINGS async_insert = 1 VALUES ('a')", mallory);
    await ok("ALTER TABLE hers.made ADD COLUMN b UInt8", mallory);
    await ok("CREATE VIEW hers.v AS SELECT a FROM hers.made", mallory);
    expect(await rows("SELECT a FROM hers.v", mallory)).toEqual([["a"]]);
    await ok("DROP TABLE hers.made", mallory);
  });

  test.each([
    "SELECT a FROM others.kept",
    "SELECT a FROM merge('others', 'kept')",
    "SELECT a FROM merge(REGEXP('.*'), 'kept')",
    "SELECT * FROM view(SELECT a FROM others.kept)",
    "SELECT * FROM mergeTreeIndex('others', 'kept')",
    "SELECT * FROM dictionary('others.names')",
    "SELECT dictGet('others.names', 'b', tuple('x'))",
    "SELECT * FROM hers.own WHERE a IN (SELECT a FROM others.kept)",
    "SELECT * FROM hers.own WHERE a IN others.kept",
    "INSERT INTO hers.own SELECT a FROM others.kept",
    "INSERT INTO others.kept VALUES ('x')",
    "INSERT INTO others.kept SETTINGS async_insert = 1 VALUES ('x')",
    "INSERT INTO others.kept SETTINGS async_insert = 1, wait_for_async_insert = 0 VALUES ('x')",
    "CREATE TABLE hers.c AS others.kept",
    "CREATE TABLE hers.c CLONE AS others.kept",
    "CREATE TABLE hers.c ENGINE = MergeTree ORDER BY a AS SELECT a FROM others.kept",
    "CREATE VIEW hers.c AS SELECT a FROM others.kept",
    "CREATE VIEW hers.c SQL SECURITY NONE AS SELECT a FROM others.kept",
    "CREATE VIEW hers.c DEFINER = default SQL SECURITY DEFINER AS SELECT a FROM others.kept",
    "CREATE MATERIALIZED VIEW hers.c ENGINE = MergeTree ORDER BY a POPULATE AS SELECT a FROM others.kept",
    "CREATE MATERIALIZED VIEW hers.c TO others.kept AS SELECT a FROM hers.own",
    "CREATE TABLE hers.c (a String) ENGINE = Buffer(others, kept, 1, 1, 1, 1, 1, 1, 1)",
    "CREATE TABLE hers.c (a String) ENGINE = Merge('others', 'kept')",
    "CREATE TABLE hers.c ENGINE = Alias(others, kept)",
    "CREATE TABLE hers.c (a String) ENGINE = Dictionary('others.names')",
    "CREATE DICTIONARY hers.c (a String) PRIMARY KEY a SOURCE(CLICKHOUSE(DB 'others' TABLE 'kept')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "ALTER TABLE hers.own ATTACH PARTITION tuple() FROM others.kept",
    "ALTER TABLE hers.own REPLACE PARTITION tuple() FROM others.kept",
    "ALTER TABLE others.kept MOVE PARTITION tuple() TO TABLE hers.own",
    "RENAME TABLE others.kept TO hers.c",
    "EXCHANGE TABLES others.kept AND hers.own",
    "DROP TABLE others.kept",
    "TRUNCATE TABLE others.kept",
    "OPTIMIZE TABLE others.kept",
    "DESCRIBE TABLE others.kept",
    "SHOW CREATE TABLE others.kept",
    "DESCRIBE TABLE mergeTreeIndex('others', 'kept')",
    "CREATE TABLE hers.c AS mergeTreeIndex('others', 'kept')",
    "CREATE TABLE hers.c AS mergeTreeProjection('others', 'kept', 'p')",
    "CREATE TABLE hers.c AS dictionary('others.names')",
    "CREATE TABLE hers.c ENGINE = Memory EMPTY AS SELECT * FROM dictionary('others.names')",
    "CREATE VIEW hers.c AS SELECT * FROM mergeTreeIndex('others', 'kept')",
    "CREATE TABLE hers.c ENGINE = Alias(others.kept)",
    "EXPLAIN SELECT * FROM others.kept",
    "EXPLAIN header = 1 SELECT * FROM others.kept",
    "EXPLAIN PLAN actions = 1 SELECT * FROM others.kept",
    "EXPLAIN PIPELINE SELECT * FROM others.kept",
    "EXPLAIN ESTIMATE SELECT * FROM others.kept",
    "EXPLAIN QUERY TREE SELECT * FROM others.kept",
    "EXPLAIN SYNTAX SELECT * FROM others.kept",
    "SELECT * FROM (EXPLAIN QUERY TREE SELECT * FROM others.kept)",
    "CREATE DATABASE another",
    "CREATE FUNCTION f AS (x) -> x",
    "SYSTEM STOP MERGES others.kept",
    "SELECT * FROM s3('http://127.0.0.1:1/bucket/key', NOSIGN, 'CSV', 'a String')",
  ])("cannot: %s", async (sql) => {
    const text = await refusal(sql, mallory);
    expect(text).toMatch(/ACCESS_DENIED|UNKNOWN_TABLE|CANNOT_EXTRACT_TABLE_STRUCTURE/);
    expect(text).not.toContain("kept-apart");
  });

  test("reads nothing of other users in system tables", async () => {
    expect(await refusal("SELECT name FROM system.users", mallory)).toContain("ACCESS_DENIED");
    await ok("GRANT SELECT ON system.* TO mallory");
    expect(await rows("SELECT name FROM system.users", mallory)).toEqual([["mallory"]]);
    expect(await rows("SELECT DISTINCT user_name FROM system.grants", mallory)).toEqual([["mallory"]]);
    expect(await rows("SELECT DISTINCT user FROM system.processes", mallory)).toEqual([["mallory"]]);
    expect(await rows("SELECT DISTINCT user FROM system.user_processes", mallory)).toEqual([["mallory"]]);
    await refusal("SELECT toUInt8('value-of-another')");
    expect(await rows("SELECT count() > 0 FROM system.errors")).toEqual([["1"]]);
    expect(await rows("SELECT last_error_message FROM system.errors", mallory)).toEqual([]);
    expect(await rows("SELECT name FROM system.tables WHERE database = 'others'", mallory)).toEqual([]);
    expect(await refusal("SHOW GRANTS FOR default", mallory)).toContain("ACCESS_DENIED");
    expect(await refusal("SHOW CREATE USER default", mallory)).toContain("ACCESS_DENIED");
  });

  test("manages no users, and neither does a user of the management API", async () => {
    for (const sql of [
      "CREATE USER eve IDENTIFIED BY 'x'",
      "GRANT SELECT ON others.* TO mallory",
      "DROP USER mallory",
    ]) {
      expect(await refusal(sql, mallory)).toContain("Only the user default");
    }
    const made = await served.api.createServiceUser({ params, body: { name: "colleague" } });
    const colleague: Login = ["colleague", made.password];
    expect(await refusal("GRANT SELECT ON *.* TO mallory", colleague)).toContain("Only the user default");
    const query = { query: "CREATE USER eve IDENTIFIED BY 'x'" };
    await expect(served.api.runQuery({ params, body: query })).rejects.toThrow("Only the user default");
    expect(await refusal("ALTER USER colleague IDENTIFIED BY 'x'")).toContain("management API");
    expect(await refusal("DROP USER colleague")).toContain("management API");
    expect(await refusal("GRANT SELECT ON *.* TO colleague")).toContain("management API");
    await served.api.deleteServiceUser({ params: { ...params, userName: "colleague" } });
  });
});

describe("statements that are refused", () => {
  test.each([
    ["GRANT ALL ON *.* TO mallory", "Privilege ALL"],
    ["GRANT CURRENT GRANTS(ALL ON *.*) TO mallory", "CURRENT GRANTS"],
    ["GRANT CREATE USER ON *.* TO mallory", "Privilege CREATE USER"],
    ["GRANT SYSTEM ON *.* TO mallory", "Privilege SYSTEM"],
    ["GRANT SYSTEM SHUTDOWN ON *.* TO mallory", "Privilege SYSTEM SHUTDOWN"],
    ["GRANT SET DEFINER ON default TO mallory", "Privilege SET DEFINER"],
    ["GRANT IMPERSONATE ON default TO mallory", "Privilege IMPERSONATE"],
    ["GRANT CREATE DICTIONARY ON hers.* TO mallory", "Privilege CREATE DICTIONARY"],
    ["GRANT READ ON FILE TO mallory", "READ is available on S3"],
    ["GRANT URL ON *.* TO mallory", "READ is available on S3"],
    ["GRANT REMOTE ON *.* TO mallory", "READ is available on S3"],
    ["GRANT TABLE ENGINE ON Buffer TO mallory", "TABLE ENGINE is available on"],
    ["GRANT TABLE ENGINE ON * TO mallory", "TABLE ENGINE is available on"],
    ["GRANT SELECT ON kept TO mallory", "Name the database"],
    ["GRANT INSERT ON system.query_log TO mallory", "can only be read"],
    ["GRANT SELECT ON others.* TO mallory WITH GRANT OPTION", "WITH GRANT OPTION"],
    ["GRANT SELECT ON others.* TO mallory WITH REPLACE OPTION", "WITH REPLACE OPTION"],
    ["GRANT SELECT ON others.* TO CURRENT_USER", "CURRENT_USER"],
    ["GRANT SELECT ON others.* TO default", "the user default"],
    ["GRANT SELECT ON others.* TO nobody", "Code: 511. DB::Exception: There is no user or role `nobody`"],
    ["GRANT missing TO mallory", "There is no role `missing`"],
    ["REVOKE ALL EXCEPT SELECT ON *.* FROM mallory", ""],
    ["REVOKE GRANT OPTION FOR SELECT ON *.* FROM mallory", "GRANT OPTION FOR"],
    ["CREATE USER mallory IDENTIFIED BY 'x'", "already exists"],
    ["CREATE USER eve", "needs a password"],
    ["CREATE USER eve NOT IDENTIFIED", "no_password"],
    ["CREATE USER eve IDENTIFIED WITH no_password", "no_password"],
    ["CREATE USER eve IDENTIFIED WITH plaintext_password BY 'x'", "plaintext_password"],
    ["CREATE USER eve IDENTIFIED WITH double_sha1_hash BY 'd4a4f9'", "double_sha1_hash"],
    ["CREATE USER eve IDENTIFIED BY ''", "empty"],
    ["CREATE USER eve IDENTIFIED WITH sha256_hash BY 'abc'", "64 hexadecimal digits"],
    ["CREATE USER eve HOST IP '10.0.0.0/8' IDENTIFIED BY 'x'", "HOST IP"],
    ["CREATE USER eve IDENTIFIED BY 'x' SETTINGS readonly = 0", "SETTINGS"],
    ["CREATE USER eve IDENTIFIED BY 'x' DEFAULT ROLE r", "DEFAULT ROLE"],
    ["CREATE USER eve ON CLUSTER c IDENTIFIED BY 'x'", "ON CLUSTER"],
    ["CREATE USER `millrace-writer` IDENTIFIED BY 'x'", "millrace-"],
    ["CREATE USER `a b` IDENTIFIED BY 'x'", "must have"],
    ["CREATE USER default IDENTIFIED BY 'x'", "default"],
    ["DROP USER default", "default"],
    ["ALTER USER mallory RENAME TO eve", "RENAME TO"],
    ["ALTER USER mallory ADD IDENTIFIED BY 'x'", "ADD IDENTIFIED"],
    ["ALTER ROLE r RENAME TO s", "ALTER ROLE"],
    ["CREATE ROLE r SETTINGS readonly = 0", "SETTINGS"],
    ["CREATE ROW POLICY p ON others.kept USING 1 TO mallory", "CREATE ROW POLICY"],
    ["CREATE QUOTA q", "CREATE QUOTA"],
    ["CREATE SETTINGS PROFILE p", "CREATE SETTINGS"],
    ["SET DEFAULT ROLE ALL TO mallory", "SET DEFAULT ROLE"],
    ["CREATE ROLE r PARALLEL WITH DROP TABLE others.kept", "PARALLEL WITH"],
    ["CREATE USER {name:Identifier} IDENTIFIED BY 'x'", "parameter"],
  ])("%s", async (sql, named) => {
    const text = await refusal(sql);
    expect(text).toContain(named);
    expect(text).not.toMatch(/GuardRequest|formatQuery/);
    expect(await rows("SELECT name FROM system.users ORDER BY name")).toEqual([["default"], ["mallory"]]);
  });

  test("no password or hash is in what tools read", async () => {
    await ok(`CREATE USER shown IDENTIFIED BY '${secret}'`);
    await refusal(`CREATE USER shown IDENTIFIED BY '${secret}'`);
    const { organizationId } = params;
    const told = [
      await served.api.listActivities({ params: { organizationId } }),
      await served.api.listAuditEvents({ params: { organizationId } }),
      await served.api.listServiceUsers({ params }),
      await ok("SHOW CREATE USER shown"),
      await ok("SELECT * FROM system.users"),
    ];
    expect(JSON.stringify(told)).not.toContain(secret);
    expect(JSON.stringify(told)).not.toContain(hash(secret));
    // What nobody wrote is not shown.
    expect(await rows("SHOW CREATE USER shown")).toEqual([["CREATE USER shown IDENTIFIED WITH sha256_password"]]);
    await ok("DROP USER shown, mallory");
    await ok("DROP DATABASE hers");
    await ok("DROP DATABASE others");
  });
});

describe("the provider's statements", () => {
  test("make a database, a user, a role and grants, and read them back at once", async () => {
    await ok("CREATE DATABASE `shop` COMMENT 'orders';");
    const [database] = await rows(
      "SELECT toString(uuid) AS uuid, name, comment, engine FROM system.databases WHERE name = 'shop';",
    );
    expect(database?.slice(1)).toEqual(["shop", "orders", "Atomic"]);
    await ok("CREATE TABLE shop.orders (id UInt64, paid UInt8) ENGINE = MergeTree ORDER BY id");
    await ok("INSERT INTO shop.orders VALUES (1, 1), (2, 0)");

    await ok(`CREATE USER \`alice\` IDENTIFIED WITH sha256_hash BY '${hash("alice-secret")}';`);
    const [[id]] = (await rows("SELECT toString(id) AS id FROM system.users WHERE name = 'alice';")) as [[string]];
    expect(await rows(`SELECT name FROM system.users WHERE id = '${id}';`)).toEqual([["alice"]]);
    expect(
      await rows("SELECT inherit_profile FROM system.settings_profile_elements WHERE user_name = 'alice';"),
    ).toEqual([]);
    expect(await refusal("SELECT * FROM shop.orders", alice)).toContain("Not enough privileges");

    await ok("CREATE ROLE `reader`;");
    expect(await rows("SELECT toString(id) AS id FROM system.roles WHERE name = 'reader';")).toHaveLength(1);
    await ok("GRANT SELECT ON `shop`.* TO `reader`;");
    const grant =
      "SELECT toString(access_type) AS access_type, database, table, column, user_name, role_name, grant_option " +
      "FROM system.grants WHERE access_type IN ('SELECT') AND is_partial_revoke = 0 AND database = 'shop' AND " +
      "table IS NULL AND column IS NULL AND role_name = 'reader';";
    expect(await rows(grant)).toEqual([["SELECT", "shop", null, null, null, "reader", "0"]]);
    await ok("GRANT `reader` TO `alice`;");
    const roleGrant =
      "SELECT granted_role_name, user_name, role_name, with_admin_option FROM system.role_grants " +
      "WHERE granted_role_name = 'reader' AND user_name = 'alice';";
    expect(await rows(roleGrant)).toEqual([["reader", "alice", null, "0"]]);
    expect(await rows("SELECT count() FROM shop.orders", alice)).toEqual([["2"]]);
    expect(await refusal("INSERT INTO shop.orders VALUES (3, 1)", alice)).toContain("INSERT");

    await ok("GRANT INSERT(`id`) ON `shop`.`orders` TO `alice`;");
    await ok("INSERT INTO shop.orders (id) VALUES (3)", alice);
    expect(await ok("SHOW GRANTS FOR alice")).toContain("GRANT INSERT(id) ON shop.orders TO alice");
  });

  test("send hashes as parameters, too", async () => {
    const create = "CREATE USER `carol` IDENTIFIED WITH sha256_hash BY {secret_0:String};";
    const created = await send(create, admin(), { param_secret_0: hash("carol-secret") });
    expect(created).toMatchObject({ status: 200 });
    expect(await rows("SELECT 1", ["carol", "carol-secret"])).toEqual([["1"]]);
    await ok("DROP USER `carol`");
  });

  test("survive a kill of the server, and a stopped service", async () => {
    served = await served.restartAfterKill();
    await ready();
    expect(await rows("SELECT count() FROM shop.orders", alice)).toEqual([["3"]]);
    await served.api.updateServiceState({ params, body: { command: "stop" } });
    await until("it is stopped", async () => (await served.api.getService({ params })).state === "stopped");
    await served.api.updateServiceState({ params, body: { command: "start" } });
    await ready();
    expect(await rows("SELECT count() FROM shop.orders", alice)).toEqual([["3"]]);
  });

  test("take everything back", async () => {
    await ok("REVOKE INSERT(`id`) ON `shop`.`orders` FROM `alice`;");
    expect(await refusal("INSERT INTO shop.orders (id) VALUES (4)", alice)).toContain("INSERT");
    await ok("REVOKE `reader` FROM `alice`;");
    expect(await refusal("SELECT * FROM shop.orders", alice)).toContain("SELECT");
    await ok("DROP ROLE `reader`;");
    await ok("DROP USER `alice`;");
    expect(await refusal("SELECT 1", alice)).toContain("AUTHENTICATION_FAILED");
    expect(await rows("SELECT name FROM system.users")).toEqual([["default"]]);
    expect(await rows("SELECT name FROM system.roles")).toEqual([]);
    await ok("DROP DATABASE `shop`;");
  });
});

test("statements at the same time all take effect, and a query that runs meanwhile ends", async () => {
  const names = Array.from({ length: 6 }, (_, i) => `role_${i}`);
  const running = rows("SELECT sum(sleepEachRow(0.5)) FROM numbers(4) SETTINGS max_block_size = 1");
  await Promise.all(
    names.map(async (name) => {
      await ok(`CREATE ROLE ${name}`);
      expect(await rows(`SELECT name FROM system.roles WHERE name = '${name}'`)).toEqual([[name]]);
      await ok(`GRANT SELECT ON default.${name} TO ${name}`);
      expect(
        await rows(`SELECT table FROM system.grants WHERE role_name = '${name}' AND is_partial_revoke = 0`),
      ).toEqual([[name]]);
    }),
  );
  expect(await running).toEqual([["0"]]);
  await ok(`DROP ROLE ${names.join(", ")}`);
});
