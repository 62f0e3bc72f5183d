/**
 * How the rows of a copy are asked for at the source and inserted. Where Postgres can print all columns as the engine's
 * parser reads them, and the table is what the pipe has planned, the text goes straight into it.
 */
import { identifier, tableName } from "../../../clickhouse/sql.ts";
import type { Insert } from "../../contract/source.ts";
import { quoteName } from "../server/session.ts";
import { insertSql, ownColumns, streamSettings, type TablePlan } from "../tables/tables.ts";

export type CopiedRows = {
  /** SQL of Postgres for each value of a row. */
  readonly select: readonly string[];
  insert(body: Buffer, rows: number): Insert;
};

/** The version of the copy that the stream goes on from. */
const firstVersion = "0";

const settings = {
  ...streamSettings,
  // Batches are parsed side by side.
  input_format_parallel_parsing: 0,
  // No two rows of a range are of one key: looking for them costs as much as parsing.
  optimize_on_insert: 0,
  // NULL in a column that is not Nullable is the zero value, whatever the column's default is.
  input_format_defaults_for_omitted_fields: 0,
} as const;

/** `isExact`: the table `into` has the columns of the plan and ours, with these types and without defaults. */
export function copiedRows(plan: TablePlan, into: string, version: string, isExact: boolean): CopiedRows {
  const columns = plan.columns.map((column) => {
    const { name, type, printed } = column;
    return printed === undefined ? column : { name, input: type, type };
  });
  const select = plan.columns.map(({ name, printed }) => printed ?? quoteName(name));
  const isDirect = isExact && columns.every((column) => !("expression" in column));
  const table = tableName(plan.database, into);
  // Left out, our columns have zeros.
  const isFirst = isDirect && version === firstVersion;
  const all = isFirst ? columns : [...columns, ...ownColumns];
  const names = all.map(({ name }) => identifier(name)).join(", ");
  const sql = isDirect ? `INSERT INTO ${table} (${names}) FORMAT TabSeparated` : insertSql(table, all);
  return {
    // A version is digits.
    select: isFirst ? select : [...select, `'${version}'`, "0"],
    insert: (body, count) => ({ sql, body: () => body, settings, rows: count, table: plan.target }),
  };
}
