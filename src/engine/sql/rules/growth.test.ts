/** On texts as the engine's formatter writes them. */
import { expect, test } from "vitest";
import { plainFacts } from "../plain-statement.ts";
import { readStatement } from "../read-statement.ts";

test.each([
  "INSERT INTO t FORMAT CSV",
  "INSERT INTO t SELECT 1",
  "CREATE TABLE t ENGINE = MergeTree ORDER BY tuple() AS SELECT 1",
  "CREATE OR REPLACE TABLE t ENGINE = MergeTree ORDER BY tuple() AS WITH 1 AS x SELECT x",
  "CREATE TEMPORARY TABLE t ENGINE = Memory AS SELECT 1",
  "CREATE TABLE t CLONE AS s ENGINE = MergeTree ORDER BY tuple()",
  "CREATE MATERIALIZED VIEW v ENGINE = MergeTree ORDER BY tuple() POPULATE AS SELECT 1",
  "CREATE MATERIALIZED VIEW v REFRESH EVERY 1 SECOND APPEND TO t AS SELECT 1",
  "ALTER TABLE t (UPDATE a = 1 WHERE 1)",
  "ALTER TABLE t (DELETE WHERE 1), (UPDATE a = 1 WHERE 1)",
  "ALTER TABLE t (MATERIALIZE INDEX i)",
  "ALTER TABLE t (ATTACH PARTITION 1 FROM s)",
  "ALTER TABLE t (REPLACE PARTITION 1 FROM s)",
  "SYSTEM START VIEW v",
  "SYSTEM REFRESH VIEW v",
])("%s takes disk", (canonical) => {
  expect(readStatement(canonical).takesDisk).toBe(true);
});

test.each([
  "SELECT 1",
  "EXPLAIN SELECT 1",
  "INSERT INTO FUNCTION s3('https://b.s3.amazonaws.com/k', 'CSV') SELECT 1",
  "CREATE TABLE t (`a` String) ENGINE = MergeTree ORDER BY a",
  "CREATE VIEW v AS SELECT 1",
  "CREATE MATERIALIZED VIEW v TO t AS SELECT 1",
  "DROP TABLE t",
  "TRUNCATE TABLE t",
  "OPTIMIZE TABLE t FINAL",
  "ALTER TABLE t (DELETE WHERE 1)",
  "ALTER TABLE t (DROP PARTITION 1)",
  "ALTER TABLE t (DETACH PARTITION 1)",
  "ALTER TABLE t (ATTACH PARTITION 1)",
  "ALTER TABLE t (DROP DETACHED PARTITION 1)",
  "ALTER TABLE t (MODIFY TTL d + toIntervalDay(1))",
  "DELETE FROM t WHERE 1",
  "SYSTEM STOP VIEW v",
])("%s takes none", (canonical) => {
  expect(readStatement(canonical).takesDisk).toBe(false);
});

test.each(["insert into t values", "INSERT INTO t FORMAT CSV\n"])("%s takes disk, read the short way", (text) => {
  expect(plainFacts(text)?.takesDisk).toBe(true);
});
