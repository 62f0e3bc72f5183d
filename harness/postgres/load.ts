/**
 * Loads rows of Postgres into a new table of an engine, as a pipe does: TabSeparated rows of its stream, and its
 * copies.
 */
import type pg from "pg";
import { ClickHouseClient } from "../../src/clickhouse/client.ts";
import { identifier, literal } from "../../src/clickhouse/sql.ts";
import { copySelect } from "../../src/sources/relational-db/server/session.ts";
import { copiedRows } from "../../src/sources/relational-db/snapshot/copied-rows.ts";
import { createTargetTableSql, type TablePlan } from "../../src/sources/relational-db/tables/tables.ts";
import { type ColumnPlan, insertSettings } from "../../src/sources/relational-db/tables/types.ts";
import type { Stage } from "../engine/stage.ts";
import { copyBytes } from "./bytes.ts";

const settings = Object.fromEntries(Object.entries(insertSettings).map(([name, value]) => [name, String(value)]));

export async function loadRows(
  stage: Stage,
  table: string,
  plans: readonly ColumnPlan[],
  rows: Buffer,
  engine = "MergeTree ORDER BY tuple()",
): Promise<void> {
  const names = plans.map(({ name }) => identifier(name));
  const list = plans.map(({ type }, index) => `${names[index]} ${type}`).join(", ");
  await asPipe(stage, `CREATE OR REPLACE TABLE ${identifier(table)} (${list}) ENGINE = ${engine}`, settings);
  const values = plans.map(({ expression }, index) => expression ?? names[index]);
  const structure = plans.map(({ input }, index) => `${names[index]} ${input}`).join(", ");
  const select = `SELECT ${values} FROM input(${literal(structure)}) FORMAT TabSeparated`;
  await asPipe(stage, `INSERT INTO ${identifier(table)} (${names}) ${select}`, settings, rows);
}

/** Bypasses the gateway, as pipe workers do. */
async function asPipe(stage: Stage, sql: string, given: Record<string, string>, body?: Buffer): Promise<void> {
  const client = new ClickHouseClient(stage.host.address);
  await client.command(sql, { settings: given, ...(body === undefined ? {} : { body }) });
  client.close();
}

/** Copies the plan's table into one named `into`; returns the statement. Client and table: as in a pipe. */
export async function loadCopy(
  stage: Stage,
  client: pg.Client,
  plan: TablePlan,
  into: string,
  options: { readonly version?: string; readonly isExact?: boolean } = {},
): Promise<string> {
  const { version = "0", isExact = true } = options;
  await stage.ok(`DROP TABLE IF EXISTS ${identifier(into)}`);
  await asPipe(stage, createTargetTableSql(plan, into, "copy"), {});
  const rows = copiedRows(plan, into, version, isExact);
  const bytes = Buffer.concat(await copyBytes(client, copySelect(plan.source, rows.select)));
  const insert = rows.insert(bytes, 0);
  const own = Object.fromEntries(Object.entries(insert.settings ?? {}).map(([name, value]) => [name, String(value)]));
  await asPipe(stage, insert.sql, own, bytes);
  return insert.sql;
}
