/** The statements for tables in every form, as the engine's own parser understands them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestServer } from "../../harness/clickhouse/server.ts";
import { plainForm, type TableForm } from "../clickhouse/table-form.ts";
import { createTargetTableSql, createViewSql, type TablePlan } from "../sources/relational-db/tables/tables.ts";
import type { PipeDestination } from "../store/pipes/pipes.ts";
import { createErrorTableSql, upgradeErrorTableSql } from "./error-table.ts";
import { managedTableStatements } from "./managed-table.ts";

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const named = { isReplicated: true, shards: 1 };
const forms = {
  plain: plainForm,
  database: { kind: "database", cluster: "d", ...named },
  cluster: { kind: "cluster", cluster: "main", ...named },
  shards: { kind: "cluster", cluster: "main", isReplicated: true, shards: 2 },
  cloud: { kind: "cloud", cluster: "default", ...named },
} satisfies Record<string, TableForm>;

const destination: PipeDestination = {
  table: "t",
  columns: [
    { name: "id", type: "UInt64" },
    { name: "v", type: "UInt32" },
  ],
  tableDefinition: {
    engine: { type: "ReplacingMergeTree", versionColumnId: "v" },
    sortingKey: ["id"],
    partitionBy: "id % 3",
  },
};

/** The statement as the engine prints it after it has parsed it, in one line. */
async function parsed(sql: string): Promise<string> {
  await server.client.text(`EXPLAIN AST ${sql}`);
  const printed = await server.client.text("SELECT formatQuerySingleLine({sql:String}) FORMAT TSVRaw", {
    params: { sql: sql.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t") },
  });
  return printed.trim();
}

const windows = {
  one: "SETTINGS non_replicated_deduplication_window = 100000",
  many: "SETTINGS replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 2592000",
};

test("a pipe's table: engine, cluster and memory for tokens in each form", async () => {
  const of = async (form: TableForm) => {
    const statements = managedTableStatements({ database: "d", table: "t" }, destination, form);
    return await Promise.all(statements.map(parsed));
  };
  const body = "(`id` UInt64, `v` UInt32)";
  const tail = (window: string) => `PARTITION BY id % 3 ORDER BY (id) ${window} COMMENT 'Made by a Millrace pipe'`;
  const head = "CREATE TABLE IF NOT EXISTS d.t";
  expect(await of(forms.plain)).toEqual([`${head} ${body} ENGINE = ReplacingMergeTree(v) ${tail(windows.one)}`]);
  const replicated = `${body} ENGINE = ReplicatedReplacingMergeTree(v) ${tail(windows.many)}`;
  expect(await of(forms.database)).toEqual([`${head} ${replicated}`]);
  expect(await of(forms.cluster)).toEqual([`${head} ON CLUSTER main ${replicated}`]);
  expect(await of(forms.cloud)).toEqual([`${head} ${body} ENGINE = ReplacingMergeTree(v) ${tail(windows.many)}`]);
  expect(await of(forms.shards)).toEqual([
    `${head}_local ON CLUSTER main ${replicated}`,
    `${head} ON CLUSTER main ${body} ENGINE = Distributed('main', 'd', 't_local', cityHash64(id)) COMMENT 'Made by a Millrace pipe'`,
  ]);
});

test("rows of a table that combines none are spread by all their values", () => {
  const { sortingKey } = destination.tableDefinition ?? {};
  const plain = { ...destination, tableDefinition: { ...(sortingKey === undefined ? {} : { sortingKey }) } };
  const [, distributed] = managedTableStatements({ database: "d", table: "t" }, plain, forms.shards);
  expect(distributed).toContain("cityHash64(`id`, `v`)");
});

test("the table of refused rows has the same form and memory", async () => {
  const target = { kind: "table", database: "d", table: "t", columns: [] } as const;
  for (const [name, form] of Object.entries(forms)) {
    const made = await parsed(createErrorTableSql(target, form));
    expect(made).toContain(form.isReplicated ? windows.many : windows.one);
    expect(made.includes("ENGINE = ReplicatedMergeTree ORDER BY")).toBe(form.isReplicated && form.kind !== "cloud");
    const later = await parsed(upgradeErrorTableSql(target, columnsOfFirst, form) as string);
    for (const sql of [made, later])
      expect([name, sql.includes("ON CLUSTER main")]).toEqual([name, form.kind === "cluster"]);
  }
});

const columnsOfFirst = new Set(["time", "pipe_id", "origin", "position", "message", "raw"]);

test("tables and views of a relational source", async () => {
  const plan = {
    ...{ database: "d", target: "t", engine: "ReplacingMergeTree", key: ["id"], isKeyless: false, hardDelete: true },
    columns: [{ name: "id", input: "Int64", type: "Int64" }],
    mapping: { sourceSchemaName: "s", sourceTable: "t", targetTable: "t" },
  } as unknown as TablePlan;
  for (const form of Object.values(forms)) {
    const table = await parsed(createTargetTableSql({ ...plan, form }, "t", "copy"));
    const prefix = form.isReplicated && form.kind !== "cloud" ? "Replicated" : "";
    expect(table).toContain(`ENGINE = ${prefix}ReplacingMergeTree(_version, _deleted) ORDER BY (id)`);
    expect(table).toContain(form.isReplicated ? windows.many : windows.one);
    const view = await parsed(createViewSql({ ...plan, form }, "v"));
    for (const sql of [table, view]) expect(sql.includes("ON CLUSTER main")).toBe(form.kind === "cluster");
  }
});
