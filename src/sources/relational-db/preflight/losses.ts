/** What the destination of a new pipe does not hold as the source does, per table; see `docs/postgres-types.md`. */
import type { Issue } from "../../../lib/errors.ts";
import type { SourceColumn, SourceTable, SourceType } from "../declaration/durable.ts";
import { replicatedColumns } from "../server/catalog.ts";
import { columnPlan } from "../tables/types.ts";
import { issue, type Preflight, tableKey } from "./issues.ts";
import { shownTable } from "./tables.ts";

/** Types whose text is the value itself. */
const texts = ["text", "varchar", "bpchar", "char", "name", "citext", "json", "jsonb", "xml"];

/** One warning per table that loses something. */
export function mappingLosses({ config, tables }: Preflight): Issue[] {
  const nullable = config.settings?.allowNullableColumns === true;
  return config.tableMappings.flatMap((mapping, index) => {
    const table = tables.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
    if (table === undefined) return [];
    const losses = lossesOf(table, mapping.excludedColumns, nullable);
    if (losses.length === 0) return [];
    return [issue(`tableMappings.${index}`, `${shownTable(table)}: ${losses.join("; ")}`)];
  });
}

function lossesOf(table: SourceTable, excluded: readonly string[] | undefined, nullable: boolean): string[] {
  const columns = replicatedColumns(table, excluded);
  const isKey = (column: SourceColumn) => table.key.includes(column.name);
  const isLeftOut = (column: SourceColumn) => column.generated && !excluded?.includes(column.name);
  const among = (...names: string[]) => columns.filter((column) => !isKey(column) && names.includes(nameOf(column)));
  const storedAs = (column: SourceColumn) => columnPlan(column, { nullable: false, key: isKey(column) }).type;
  const listed: [readonly SourceColumn[], string][] = [
    [table.columns.filter(isLeftOut), "generated columns are left out"],
    [among("date"), "dates outside of 1900 to 2299, BC and infinity become the nearest of these days"],
    [among("timestamp", "timestamptz"), "times BC, after the year 9999 and infinity become the nearest that fit"],
    [
      columns.filter((column) => nameOf(column) === "numeric" && storedAs(column) !== "String"),
      "NaN is stored as NULL",
    ],
    [
      columns.filter((column) => isPrinted(column) && storedAs(column) === "String"),
      "stored as the text that Postgres prints",
    ],
    [
      nullable ? [] : columns.filter((column) => !column.notNull && !isKey(column)),
      "NULL becomes the zero value of the type",
    ],
    [
      nullable ? columns.filter((column) => !column.notNull && isArray(column)) : [],
      "a NULL array becomes an empty one",
    ],
  ];
  return listed.filter(([found]) => found.length > 0).map(([found, loss]) => `${loss} (${shown(found)})`);
}

function isPrinted(column: SourceColumn): boolean {
  return bare(column.type).kind !== "enum" && !texts.includes(nameOf(column)) && nameOf(column) !== "bytea";
}

function isArray(column: SourceColumn): boolean {
  return bare(column.type).element !== undefined;
}

function nameOf(column: SourceColumn): string {
  return bare(column.type).name;
}

function bare(type: SourceType): SourceType {
  return type.base === undefined ? type : bare(type.base);
}

function shown(columns: readonly SourceColumn[]): string {
  const names = columns.slice(0, 10).map(({ name }) => name);
  return [...names, ...(columns.length > 10 ? [`${columns.length - 10} more`] : [])].join(", ");
}
