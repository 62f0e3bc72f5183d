/**
 * The privileges that statements may grant: those that users of the management API have (`../../chdb/users.ts`), except
 * what would reach tables that were not granted. A dictionary reads its source as the user `default`, and so does no
 * grant for dictionaries exist. SYSTEM FLUSH would show the names and definitions of all tables.
 * `privileges.real.test.ts` compares the list with the installed engine.
 */

/** The smallest object that a privilege can be granted on. */
export type PrivilegeLevel = "global" | "database" | "table" | "column";

const byLevel: Readonly<Record<PrivilegeLevel, string>> = {
  column: `SELECT, INSERT, SHOW COLUMNS, ALTER UPDATE, ALTER DELETE, ALTER ADD COLUMN, ALTER MODIFY COLUMN,
    ALTER DROP COLUMN, ALTER COMMENT COLUMN, ALTER CLEAR COLUMN, ALTER RENAME COLUMN, ALTER MATERIALIZE COLUMN`,
  table: `SHOW, SHOW TABLES, SHOW DICTIONARIES, CHECK, ALTER, ALTER TABLE, ALTER COLUMN, ALTER MODIFY COMMENT,
    ALTER ORDER BY, ALTER SAMPLE BY, ALTER INDEX, ALTER ADD INDEX, ALTER DROP INDEX, ALTER MATERIALIZE INDEX,
    ALTER CLEAR INDEX, ALTER STATISTICS, ALTER ADD STATISTICS, ALTER DROP STATISTICS, ALTER MODIFY STATISTICS,
    ALTER MATERIALIZE STATISTICS, ALTER PROJECTION, ALTER ADD PROJECTION, ALTER DROP PROJECTION,
    ALTER MATERIALIZE PROJECTION, ALTER CLEAR PROJECTION, ALTER CONSTRAINT, ALTER ADD CONSTRAINT,
    ALTER DROP CONSTRAINT, ALTER MODIFY CONSTRAINT, ALTER TTL, ALTER MATERIALIZE TTL, ALTER SETTINGS, ALTER REWRITE PARTS,
    ALTER MOVE PARTITION, ALTER FETCH PARTITION, ALTER FREEZE PARTITION, ALTER UNLOCK SNAPSHOT, ALTER EXECUTE, ALTER VIEW,
    ALTER VIEW MODIFY QUERY, ALTER VIEW MODIFY REFRESH, ALTER VIEW MODIFY SQL SECURITY,
    CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW, DROP DICTIONARY, UNDROP TABLE,
    TRUNCATE, OPTIMIZE, dictGet, SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM MOVES, SYSTEM VIEWS,
    SYSTEM WAIT LOADING PARTS, SYSTEM LOAD PRIMARY KEY, SYSTEM UNLOAD PRIMARY KEY`,
  database:
    "SHOW DATABASES, CREATE DATABASE, DROP DATABASE, ALTER DATABASE, ALTER DATABASE SETTINGS, ALTER MODIFY DATABASE COMMENT",
  global: `CREATE TEMPORARY TABLE, CREATE ARBITRARY TEMPORARY TABLE, CREATE TEMPORARY VIEW, CREATE FUNCTION,
    DROP FUNCTION, SYSTEM DROP CACHE, SYSTEM RELOAD DICTIONARY`,
};

/** The level of every privilege on databases, tables and columns, by its name in the engine's spelling. */
export const privilegeLevels: ReadonlyMap<string, PrivilegeLevel> = new Map(
  (Object.entries(byLevel) as [PrivilegeLevel, string][]).flatMap(([level, names]) =>
    names.split(/,\s+/).map((name) => [name, level] as const),
  ),
);

/** Engines that keep their data themselves, and views. Others read or write further tables without a look at grants. */
const tableEngines = `MergeTree ReplacingMergeTree SummingMergeTree AggregatingMergeTree CollapsingMergeTree
  VersionedCollapsingMergeTree CoalescingMergeTree GraphiteMergeTree Log TinyLog StripeLog Memory Set Join Null
  View MaterializedView GenerateRandom S3`.split(/\s+/);

/** The objects of privileges that are about a source or a table engine. */
export const objectPrivileges: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["READ", new Set(["S3"])],
  ["WRITE", new Set(["S3"])],
  ["TABLE ENGINE", new Set(tableEngines)],
]);

/** Privileges that change nothing, also on the engine's own databases. */
export const readingPrivileges: ReadonlySet<string> = new Set([
  "SELECT",
  "SHOW",
  "SHOW DATABASES",
  "SHOW TABLES",
  "SHOW COLUMNS",
  "SHOW DICTIONARIES",
]);
