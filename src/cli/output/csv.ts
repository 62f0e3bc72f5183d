/** Rows as comma-separated values. */

type Row = Readonly<Record<string, unknown>>;

/**
 * A header and a line for each row: a column for each member that any row has, in the order of their first appearance.
 * Objects and lists are JSON, and what is absent is empty.
 */
export function csvText(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return "";
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column])));
  return [columns.map(cellOf), ...lines].map((cells) => `${cells.join(",")}\n`).join("");
}

function cellOf(value: unknown): string {
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
