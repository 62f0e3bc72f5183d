/** What several shards can have of a moved service. The statements are parsed by the engine in test/real. */
import { expect, test } from "vitest";
import { plainForm, type TableForm } from "../../clickhouse/table-form.ts";
import type { CatalogueObject } from "./catalogue.ts";
import { distributedStatement, forShards, shardObstacles } from "./shards.ts";
import { tableStatements } from "./statements.ts";

const sharded: TableForm = { kind: "cluster", cluster: "main", isReplicated: true, shards: 2 };
const object = (name: string, more: Partial<CatalogueObject> = {}): CatalogueObject => ({
  ...{ kind: "table", database: "default", name, engine: "MergeTree", sortingKey: "id", rows: 1, bytes: 1 },
  statement: `CREATE TABLE default.${name} (\`id\` UInt64) ENGINE = MergeTree ORDER BY id`,
  ...more,
});

test("a table becomes one with the rows on every shard, and one over all shards", () => {
  expect(tableStatements(object("t"), sharded, "t_local").create).toMatch(
    /^CREATE TABLE IF NOT EXISTS `default`\.`t_local` ON CLUSTER `main` .*ENGINE = ReplicatedMergeTree ORDER BY id/,
  );
  expect(distributedStatement(object("t"), sharded, "cityHash64(`id`)")).toBe(
    "CREATE TABLE IF NOT EXISTS `default`.`t` ON CLUSTER `main` AS `default`.`t_local` ENGINE = Distributed('main', 'default', 't_local', cityHash64(`id`))",
  );
});

test("what would be wrong on shards is named, and the rest is moved", () => {
  const all = [
    object("plain"),
    object("store"),
    object("store_local"),
    object("sums", { engine: "SummingMergeTree", sortingKey: "" }),
    object("nothing", { engine: "Null", sortingKey: "" }),
    object("seen", { kind: "view", engine: "View" }),
    object("copying", { kind: "materializedView", engine: "MaterializedView" }),
  ];
  const { objects, problems } = forShards(sharded, all);
  expect(objects.map(({ name }) => name)).toEqual(["plain", "store_local", "nothing", "seen"]);
  expect(problems).toEqual([
    { object: "default.store", message: expect.stringContaining("store_local, which is another table") },
    { object: "default.sums", message: expect.stringContaining("without a sorting key") },
    { object: "default.copying", message: expect.stringContaining("whatever the sharding key") },
  ]);
  expect(forShards(plainForm, all)).toEqual({ objects: all, problems: [] });
});

test("pipes of databases and Replicated databases are refused", () => {
  const pipes = [
    { name: "cdc", sourceKind: "relationalDb" },
    { name: "files", sourceKind: "objectStorage" },
  ];
  expect(shardObstacles(sharded, pipes)).toEqual([{ message: expect.stringContaining('the pipe "cdc"') }]);
  expect(shardObstacles({ ...sharded, kind: "database" }, [])).toHaveLength(1);
  expect(shardObstacles({ ...sharded, shards: 1 }, pipes)).toEqual([]);
});
