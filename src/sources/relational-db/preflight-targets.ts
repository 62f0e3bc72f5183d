/** Pre-flight checks of the destination tables: absent, or empty and fit for the rows that will come. */
import { literal, parameterText } from "../../clickhouse/sql.ts";
import type { Issue } from "../../lib/errors.ts";
import { replicatedColumns } from "./catalog.ts";
import { issue, type Preflight, type PreflightOptions, tableKey } from "./preflight.ts";

type Target = { readonly name: string; readonly engine: string; readonly filled: number; readonly columns: string[] };

const targetsSql = `
  SELECT t.name AS name, t.engine AS engine, toUInt8(p.rows > 0) AS filled, c.columns AS columns
  FROM (
    SELECT name, engine FROM system.tables
    WHERE database = {database:String} AND name IN (SELECT arrayJoin({names:Array(String)}))
  ) AS t
  LEFT JOIN (
    SELECT table, sum(rows) AS rows FROM system.parts WHERE active AND database = {database:String} GROUP BY table
  ) AS p ON p.table = t.name
  LEFT JOIN (
    SELECT table, groupArray(name) AS columns FROM system.columns WHERE database = {database:String} GROUP BY table
  ) AS c ON c.table = t.name`;

/** A pipe that exists already owns its tables: nothing is said about them. */
export async function targetIssues(parts: Preflight, options: PreflightOptions): Promise<Issue[]> {
  if (parts.existing) return [];
  const { tableMappings } = parts.config;
  const names = tableMappings.map(({ targetTable }) => targetTable);
  const params = { database: parameterText(options.database), names: `[${names.map(literal).join(",")}]` };
  const found = new Map((await options.query(targetsSql, { params })).map((row) => [String(row.name), row as Target]));
  const issues: Issue[] = [];
  for (const [index, mapping] of tableMappings.entries()) {
    const target = found.get(mapping.targetTable);
    if (target === undefined) continue;
    const table = parts.tables.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
    const add = (message: string) => issues.push(issue(`tableMappings.${index}.targetTable`, message));
    const name = `${options.database}.${mapping.targetTable}`;
    if (!/MergeTree$/.test(target.engine) && target.engine !== "Null") {
      add(`${name} exists and is a ${target.engine}; it must be a MergeTree table, or not exist`);
      continue;
    }
    if (target.filled === 1) add(`${name} exists and is not empty; drop or empty it, or choose another name`);
    const wanted = table === undefined ? [] : replicatedColumns(table, mapping.excludedColumns);
    const missing = wanted.filter((column) => !target.columns.includes(column.name)).map((column) => column.name);
    if (missing.length > 0) add(`${name} exists and has no column ${missing.join(", ")}; drop it, or add them`);
  }
  return issues;
}
