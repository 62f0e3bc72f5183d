/** Definitions of moved objects in the forms of servers; what the engine's parser says of them is in test/real. */
import { describe, expect, test } from "vitest";
import { plainForm, type TableForm } from "../../clickhouse/table-form.ts";
import { hasColumnTtl, hasInnerTable, objectStatement, tableStatements } from "./statements.ts";

const replicated: TableForm = { kind: "cluster", cluster: "main", isReplicated: true, shards: 1 };
const table = (rest: string, columns = "(`id` UInt64, `TTL` String)") => ({
  database: "default",
  name: "t",
  statement: `CREATE TABLE default.t ${columns} ${rest}`,
});

describe("tables", () => {
  test("keep columns, keys, settings and comment, and get the windows of the server", () => {
    const { create, ttl } = tableStatements(
      table(
        "ENGINE = MergeTree PARTITION BY id % 2 ORDER BY id SETTINGS index_granularity = 8192, " +
          "non_replicated_deduplication_window = 5, storage_policy = 'ssd' COMMENT 'SETTINGS of a table'",
      ),
      plainForm,
    );
    expect(create).toBe(
      "CREATE TABLE IF NOT EXISTS `default`.`t` (`id` UInt64, `TTL` String) ENGINE = MergeTree PARTITION BY id % 2 ORDER BY id " +
        " SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 100000 COMMENT 'SETTINGS of a table'",
    );
    expect(ttl).toBeUndefined();
  });

  test("are replicated on a cluster, and their TTL comes at the end of the move", () => {
    const { create, ttl } = tableStatements(
      table("ENGINE = ReplacingMergeTree(v) ORDER BY id TTL v + toIntervalDay(1) SETTINGS index_granularity = 1"),
      replicated,
    );
    expect(create).toContain("`default`.`t` ON CLUSTER `main` (");
    expect(create).toContain("ENGINE = ReplicatedReplacingMergeTree(v) ORDER BY id");
    expect(create).toContain("replicated_deduplication_window_seconds = 2592000");
    expect(create).not.toContain("toIntervalDay");
    expect(ttl).toBe("v + toIntervalDay(1)");
  });

  test("that store nothing have no settings", () => {
    expect(tableStatements(table("ENGINE = Null"), replicated).create).toMatch(/ENGINE = Null$/);
  });

  test("with a TTL of a column are found, and a column of that name is none", () => {
    expect(hasColumnTtl(table("ENGINE = MergeTree ORDER BY id TTL v + toIntervalDay(1)").statement)).toBe(false);
    const columns = "(`id` UInt64, `v` String TTL t + toIntervalDay(1))";
    expect(hasColumnTtl(table("ENGINE = MergeTree ORDER BY id", columns).statement)).toBe(true);
  });
});

describe("views", () => {
  test("lose their definer, a user of the old side", () => {
    const statement =
      "CREATE MATERIALIZED VIEW default.v TO default.t (`id` UInt64) DEFINER = internal SQL SECURITY DEFINER AS SELECT id FROM default.u";
    expect(objectStatement({ database: "default", name: "v", statement }, replicated)).toBe(
      "CREATE MATERIALIZED VIEW IF NOT EXISTS `default`.`v` ON CLUSTER `main` TO default.t (`id` UInt64)   AS SELECT id FROM default.u",
    );
    expect(hasInnerTable(statement)).toBe(false);
  });

  test("with rows of their own are known", () => {
    const statement =
      "CREATE MATERIALIZED VIEW default.v (`id` UInt64) ENGINE = MergeTree ORDER BY id AS SELECT id FROM u";
    expect(hasInnerTable(statement)).toBe(true);
  });
});
