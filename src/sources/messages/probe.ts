/** Asks the engine whether it can read rows, without inserting anything. */
import { identifier, literal } from "../../clickhouse/sql.ts";
import type { SourceMessage } from "./message.ts";
import { type RowPlan, structureText } from "./plan.ts";

const statementBytes = 512 * 2 ** 20;
/** The column that numbers rows during the search for unreadable ones. */
export const rowNumber = "__millrace_row_number";

export type ProbeStatement = { readonly sql: string; readonly settings: Record<string, string | number> };

/** Reads the content and computes every column; fails as the insert would. */
export function readAll<M extends SourceMessage>(plan: RowPlan<M>, content: Buffer): ProbeStatement {
  const { structure, expressions } = plan.search;
  const table = formatCall(plan.format, structureText(structure), content);
  const every = expressions.length === 0 ? "1" : expressions.join(", ");
  return {
    sql: `SELECT count() AS rows FROM (SELECT tuple(${every}) AS row FROM ${table}) WHERE NOT ignore(row)`,
    settings: { ...plan.settings, max_query_size: statementBytes },
  };
}

/**
 * The numbers of unreadable rows among JSON rows numbered 1 to `rows`, each on its own line; `without` is the name of a
 * column that is not read.
 */
export function listUnreadable<M extends SourceMessage>(
  plan: RowPlan<M>,
  lines: Buffer,
  rows: number,
  without?: string,
): ProbeStatement {
  const columns = plan.search.structure.filter(({ name }) => name !== without);
  const structure = [{ name: rowNumber, type: "UInt32" }, ...columns];
  // The engine's result has no columns when it can read no row at all: there is always one without fields.
  const first = Buffer.from(`{"${rowNumber}":0}\n`);
  const table = formatCall("JSONEachRow", structureText(structure), Buffer.concat([first, lines]));
  const fields = structure.map(({ name }) => identifier(name)).join(", ");
  return {
    sql:
      `SELECT number AS row FROM numbers(1, ${Math.trunc(rows)}) WHERE number NOT IN ` +
      `(SELECT ${rowNumber} FROM ${table} WHERE NOT ignore(${fields})) ORDER BY row`,
    settings: {
      ...plan.settings,
      max_query_size: statementBytes,
      input_format_allow_errors_num: Number.MAX_SAFE_INTEGER,
      input_format_allow_errors_ratio: 1,
    },
  };
}

function formatCall(format: string, structure: string, content: Buffer): string {
  return `format(${format}, ${literal(structure)}, ${bytesLiteral(content)})`;
}

/** A string literal of any bytes, written in ASCII only. */
export function bytesLiteral(bytes: Buffer): string {
  const text = bytes.toString("latin1").replaceAll(/[\\'\0-\x1f\x7f-\xff]/g, (char) => {
    if (char === "\\" || char === "'") return `\\${char}`;
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `'${text}'`;
}
