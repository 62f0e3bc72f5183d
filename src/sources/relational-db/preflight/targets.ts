/** Pre-flight checks of the destination tables: absent, or empty and fit for the rows that will come. */
import { literal, parameterText } from "../../../clickhouse/sql.ts";
import type { Issue } from "../../../lib/errors.ts";
import { replicatedColumns } from "../server/catalog.ts";
import { commentOf } from "../tables/destination.ts";
import { isWidening } from "../tables/evolve.ts";
import { deletedColumn, versionColumn } from "../tables/tables.ts";
import { columnPlan } from "../tables/types.ts";
import { issue, type Preflight, type PreflightOptions, tableKey } from "./issues.ts";

type Target = {
  readonly name: string;
  readonly engine: string;
  readonly filled: number;
  /** A pipe has made it. */
  readonly made: number;
  readonly columns: readonly (readonly [name: string, type: string])[];
};

const targetsSql = `
  SELECT t.name AS name, t.engine AS engine, toUInt8(p.rows > 0) AS filled, c.columns AS columns,
    startsWith(t.comment, {comment:String}) AS made
  FROM (
    SELECT name, engine, comment FROM system.tables
    WHERE database = {database:String} AND name IN (SELECT arrayJoin({names:Array(String)}))
  ) AS t
  LEFT JOIN (
    SELECT table, sum(rows) AS rows FROM system.parts WHERE active AND database = {database:String} GROUP BY table
  ) AS p ON p.table = t.name
  LEFT JOIN (
    SELECT table, groupArray((name, type)) AS columns FROM system.columns WHERE database = {database:String} GROUP BY table
  ) AS c ON c.table = t.name`;

/**
 * Nothing is said about tables that the pipe owns already, nor about one that it has left: a new copy takes the place
 * of that.
 */
export async function targetIssues(parts: Preflight, options: PreflightOptions): Promise<Issue[]> {
  const { known } = parts;
  const { tableMappings } = parts.config;
  const nullable = parts.config.settings?.allowNullableColumns === true;
  const names = tableMappings.map(({ targetTable }) => targetTable);
  const params = {
    database: parameterText(options.database),
    names: `[${names.map(literal).join(",")}]`,
    comment: commentOf(""),
  };
  const found = new Map((await options.query(targetsSql, { params })).map((row) => [String(row.name), row as Target]));
  const issues: Issue[] = [];
  for (const [index, mapping] of tableMappings.entries()) {
    const target = found.get(mapping.targetTable);
    if (known?.has(mapping) === true || known?.hasStored(mapping) === true) continue;
    if (target === undefined || (known?.had(mapping) === true && target.made === 1)) continue;
    if (mapping.partitionByExpr !== undefined) {
      const message = `cannot be applied to ${options.database}.${mapping.targetTable}, which exists; drop it, or leave this out`;
      issues.push(issue(`tableMappings.${index}.partitionByExpr`, message));
    }
    const table = parts.tables.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
    const add = (message: string) => issues.push(issue(`tableMappings.${index}.targetTable`, message));
    const name = `${options.database}.${mapping.targetTable}`;
    if (!/MergeTree$/.test(target.engine) && target.engine !== "Null") {
      add(`${name} exists and is a ${target.engine}; it must be a MergeTree table, or not exist`);
      continue;
    }
    if (target.filled === 1) add(`${name} exists and is not empty; drop or empty it, or choose another name`);
    const wanted = table === undefined ? [] : replicatedColumns(table, mapping.excludedColumns);
    const types = new Map(target.columns);
    const names = [...wanted.map((column) => column.name), versionColumn, deletedColumn];
    const missing = names.filter((column) => !types.has(column));
    if (missing.length > 0) add(`${name} exists and has no column ${missing.join(", ")}; drop it, or add them`);
    for (const column of wanted) {
      const has = types.get(column.name);
      const needs = columnPlan(column, { nullable, key: table?.key.includes(column.name) === true }).type;
      if (has === undefined || !cutsValues(needs, has)) continue;
      add(
        `${name} exists with ${column.name} ${has}, which does not take every ${needs}; drop it, or widen the column`,
      );
    }
  }
  return issues;
}

/** The engine changes values that do not fit, or makes them empty, often without a word. */
function cutsValues(from: string, to: string): boolean {
  const [one = "", other = ""] = [from, to].map((type) => type.replace(/^LowCardinality\((.*)\)$/, "$1"));
  if (one.startsWith("Nullable(") && !other.startsWith("Nullable(")) return true;
  const [bare = "", wide = ""] = [one, other].map((type) => type.replace(/^Nullable\((.*)\)$/, "$1"));
  return bare !== wide && wide !== "String" && !isWidening(bare, wide);
}
