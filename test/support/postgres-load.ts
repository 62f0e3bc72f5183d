/** Puts TabSeparated rows of Postgres into a new table of an engine, as a pipe does. */
import { identifier, literal } from "../../src/clickhouse/sql.ts";
import { type ColumnPlan, insertSettings } from "../../src/sources/relational-db/types.ts";
import type { Stage } from "../real/engine/harness.ts";

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
  await stage.ok(`CREATE OR REPLACE TABLE ${identifier(table)} (${list}) ENGINE = ${engine}`, settings);
  const values = plans.map(({ expression }, index) => expression ?? names[index]);
  const structure = plans.map(({ input }, index) => `${names[index]} ${input}`).join(", ");
  const select = `SELECT ${values} FROM input(${literal(structure)}) FORMAT TabSeparated\n`;
  const head = `INSERT INTO ${identifier(table)} (${names}) ${select}`;
  await stage.ok(Buffer.concat([Buffer.from(head), rows]), settings);
}
