/** Every command of ALTER TABLE that the guard accepts does its work inside the confinement. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
  await stage.ok(
    "CREATE TABLE u (p UInt8, a String, b String, d DateTime) ENGINE = MergeTree PARTITION BY p ORDER BY a",
  );
});
afterAll(async () => await stage.close());

const commands = [
  [
    "ADD COLUMN c String DEFAULT upper(a)",
    "MATERIALIZE COLUMN c",
    "MODIFY COLUMN c String CODEC(ZSTD(3))",
    "CLEAR COLUMN c",
  ],
  ["ADD COLUMN e UInt8", "COMMENT COLUMN e 'x'", "RENAME COLUMN e TO f", "DROP COLUMN f"],
  ["ADD INDEX i b TYPE minmax", "MATERIALIZE INDEX i", "CLEAR INDEX i", "DROP INDEX i"],
  ["ADD PROJECTION j (SELECT b ORDER BY b)", "MATERIALIZE PROJECTION j", "CLEAR PROJECTION j", "DROP PROJECTION j"],
  ["ADD CONSTRAINT k CHECK p < 100", "DROP CONSTRAINT k"],
  ["ADD STATISTICS p TYPE tdigest, uniq", "MATERIALIZE STATISTICS p", "DROP STATISTICS p"],
  ["MODIFY TTL d + INTERVAL 10 YEAR", "MATERIALIZE TTL", "REMOVE TTL"],
  ["MODIFY COMMENT 'x'", "MODIFY SETTING merge_max_block_size = 1024", "RESET SETTING merge_max_block_size"],
  ["UPDATE b = 'y' WHERE p = 1", "DELETE WHERE a = 'none'", "APPLY DELETED MASK", "REWRITE PARTS"],
  ["DETACH PARTITION 1", "ATTACH PARTITION 1"],
  ["DETACH PART '2_2_2_0'", "ATTACH PART '2_2_2_0'"],
  ["DETACH PARTITION 3", "DROP DETACHED PARTITION 3 SETTINGS allow_drop_detached = 1"],
  ["REPLACE PARTITION 4 FROM u", "ATTACH PARTITION 5 FROM u", "MOVE PARTITION 4 TO TABLE u", "DROP PARTITION 5"],
];

test.each(commands.map((list) => [list] as const))("%s", async (list) => {
  await stage.ok("DROP TABLE IF EXISTS t SYNC");
  await stage.ok("CREATE TABLE t AS u SETTINGS min_bytes_for_full_part_storage = 0");
  for (const table of ["t", "u"]) {
    await stage.ok(`TRUNCATE TABLE ${table}`);
    for (const p of [1, 2, 3, 4, 5]) await stage.ok(`INSERT INTO ${table} VALUES (${p}, 'a${p}', 'b', now())`);
  }
  for (const command of list) await stage.ok(`ALTER TABLE t ${command}`, { mutations_sync: "1", alter_sync: "1" });
  expect(await stage.ok("SELECT count() > 0 FROM t")).toBe("1");
});
