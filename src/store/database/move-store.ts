/**
 * Moves the metadata between SQLite and Postgres, while no server runs. The target is written in one transaction and
 * compared with the source; only then the source is marked. Wherever this is killed, each side is whole: the target is
 * empty or complete, and the source as before. The same call then continues.
 */
import { copyTables, proofOf, type TableProof } from "./copy-tables.ts";
import type { Database, Queries } from "./database.ts";

export type MoveOptions = {
  readonly from: Database;
  readonly to: Database;
  /** Where the rows are afterwards, without a password: what the old server says when it refuses to start. */
  readonly place: string;
  /** Nothing is written: the transaction on the target is rolled back. */
  readonly dryRun: boolean;
  readonly tell: (line: string) => void;
};

const movedTo = "moved_to";
const dryRunEnd = Symbol("dry run");

/** Throws when the target has other rows, or when the copy is not equal to the source. Then nothing has changed. */
export async function moveStore(options: MoveOptions): Promise<void> {
  const { from, to, place, dryRun, tell } = options;
  const present = await proofOf(to);
  if (present.some(({ rows }) => rows > 0)) {
    if (!isEqual(present, await proofOf(from))) throw new Error("the target has rows already: name an empty database");
    tell("The target has all rows already.");
  } else {
    await to
      .transaction((tx) => copyAndCompare(tx, options))
      .catch((error: unknown) => {
        if (error !== dryRunEnd) throw error;
      });
  }
  if (dryRun) return tell("Dry run: nothing was changed.");
  await to.run("DELETE FROM store_facts WHERE name = ?", movedTo);
  await from.run(
    "INSERT INTO store_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    ...[movedTo, place],
  );
  tell(`Moved to ${place}. A server on the old place refuses to start.`);
}

/** Throws for a database whose rows have been moved elsewhere. */
export async function requireNotMoved(db: Queries): Promise<void> {
  const row = await db.get<{ value: string }>("SELECT value FROM store_facts WHERE name = ?", movedTo);
  if (row !== undefined) throw new Error(`the metadata has been moved to ${row.value}: start the server with that`);
}

async function copyAndCompare(tx: Queries, { from, dryRun, tell, to }: MoveOptions): Promise<void> {
  const read = await copyTables(from, tx, ({ table, rows }) => tell(`${table}: ${rows} rows`));
  await to.continueNumbers(tx);
  if (!isEqual(await proofOf(tx), read)) throw new Error("the copy differs from the source: nothing was changed");
  const rows = read.reduce((sum, table) => sum + table.rows, 0);
  tell(`${rows} rows of ${read.length} tables are equal on both sides, by count and SHA-256.`);
  if (dryRun) throw dryRunEnd;
}

function isEqual(one: readonly TableProof[], other: readonly TableProof[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
