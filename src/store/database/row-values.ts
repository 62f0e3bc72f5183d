/** Lists of rows in statements: `VALUES (?, ?), (?, ?)`. */
import type { Queries, SqlValue } from "./database.ts";

/** Rows of one statement at most. Statements are prepared once for each number of rows: powers of two are few. */
const mostRows = 64;

/**
 * Runs the statement for all rows, in their order. `sql` makes it from the list of rows. All statements are sent at
 * once, and carried out in the order of the calls.
 */
export async function runForRows(
  tx: Queries,
  rows: readonly (readonly SqlValue[])[],
  sql: (values: string) => string,
  row = placeholders(rows[0]?.length ?? 0),
): Promise<void> {
  const sent: Promise<number>[] = [];
  for (let at = 0; at < rows.length; ) {
    const part = rows.slice(at, at + largestPart(rows.length - at));
    const values = part.map(() => row).join(", ");
    sent.push(tx.run(sql(`VALUES ${values}`), ...part.flat()));
    at += part.length;
  }
  await Promise.all(sent);
}

function placeholders(count: number): string {
  return `(${Array(count).fill("?").join(", ")})`;
}

function largestPart(rows: number): number {
  return Math.min(mostRows, 2 ** Math.floor(Math.log2(rows)));
}
