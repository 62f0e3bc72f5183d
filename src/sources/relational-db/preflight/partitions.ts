/** Pre-flight checks of `partitionByExpr`: the engine tries it with the columns that the table will have. */
import { AppError, type Issue } from "../../../lib/errors.ts";
import type { SourceTable } from "../declaration/durable.ts";
import type { TableMapping } from "../declaration/table-mapping.ts";
import { partitionProblem } from "../tables/partition.ts";
import { planTable, type TablePlan, targetDefinitionSql } from "../tables/tables.ts";
import { issue, type Preflight, type PreflightOptions, tableKey } from "./issues.ts";

export async function partitionIssues(parts: Preflight, options: PreflightOptions): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const [index, mapping] of parts.config.tableMappings.entries()) {
    const table = parts.tables.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
    if (mapping.partitionByExpr === undefined || table === undefined || parts.known?.hasUnchanged(mapping)) continue;
    const problem = await problemOf(planOf(parts, options, table, mapping), mapping.partitionByExpr, options);
    if (problem !== undefined) issues.push(issue(`tableMappings.${index}.partitionByExpr`, problem));
  }
  return issues;
}

/** Undefined when the table cannot be planned at all, which other checks report. */
function planOf(
  { config }: Preflight,
  { database }: PreflightOptions,
  table: SourceTable,
  { partitionByExpr: _, ...mapping }: TableMapping,
): TablePlan | undefined {
  const { allowNullableColumns: nullable = false, deleteOnMerge: hardDelete = false } = config.settings ?? {};
  try {
    return planTable(table, mapping, database, { nullable, hardDelete });
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function problemOf(
  plan: TablePlan | undefined,
  partitionByExpr: string,
  { query }: PreflightOptions,
): Promise<string | undefined> {
  if (plan === undefined) return undefined;
  const { engine, key } = plan;
  const columns = plan.columns.map(({ name }) => name);
  const problem = partitionProblem(partitionByExpr, { engine, columns, key });
  if (problem !== undefined) return problem;
  try {
    // It belongs to this request: nothing is left of it.
    const mapping = { ...plan.mapping, partitionByExpr };
    await query(`CREATE TEMPORARY TABLE definition ${targetDefinitionSql({ ...plan, mapping })}`);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === "SOURCE_INVALID")
      return `is refused by the engine: ${error.message}`;
    throw error;
  }
}
