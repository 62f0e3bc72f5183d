/** Tables and objects that start over alone: their marks in the ledger, changed while no worker runs. */
import type { Json, JsonObject } from "../../lib/json.ts";
import { mergePatch } from "../../lib/merge-patch.ts";
import type { ObjectResync, ObjectSelection, TableResync } from "../../sources/contract/partial-resync.ts";
import type { Queries } from "../database/database.ts";

export type PartialResyncs = {
  readonly resync?: TableResync | undefined;
  readonly objectResync?: ObjectResync | undefined;
};

/** Tables of which the ledger keeps nothing start from the beginning anyway. */
export async function startTablesOver(
  tx: Queries,
  pipeId: string,
  tables: readonly string[],
  { markOf, again }: TableResync,
): Promise<void> {
  for (const table of tables) {
    const of = [pipeId, markOf(table)];
    const kept = await tx.get<{ mark: string }>(
      "SELECT mark FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?",
      ...of,
    );
    if (kept === undefined) continue;
    const next = JSON.stringify(again(JSON.parse(kept.mark) as Json));
    await tx.run("UPDATE pipe_marks SET mark = ? WHERE pipe_id = ? AND mark_key = ?", next, ...of);
  }
}

/** Every request gives an object another number, so that its batch is another one. */
export async function startObjectsOver(
  tx: Queries,
  pipeId: string,
  selections: readonly ObjectSelection[],
  resync: ObjectResync,
): Promise<void> {
  if (selections.length === 0) return;
  const list = [pipeId, resync.list];
  const kept = await tx.get<{ mark: string }>(
    "SELECT mark FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?",
    ...list,
  );
  const before = kept !== undefined && (await hasOpen(tx, pipeId, resync)) ? (JSON.parse(kept.mark) as Listed) : none;
  for (const selection of selections) {
    for await (const marks of pagesOf(tx, pipeId, selection, resync)) await writeAgain(tx, pipeId, marks, resync);
  }
  const prefixes = [...new Set([...before.prefixes, ...selections.map(prefixOf)])];
  await tx.run("DELETE FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?", ...list);
  await tx.run(
    "INSERT INTO pipe_marks (pipe_id, mark_key, mark) VALUES (?, ?, ?)",
    ...[...list, JSON.stringify({ prefixes } satisfies Listed)],
  );
}

/** Whether the ledger has a mark of such an object. */
export async function hasMarkOf(
  db: Queries,
  pipeId: string,
  selection: ObjectSelection,
  resync: ObjectResync,
): Promise<boolean> {
  const { sql, values } = conditionOf(pipeId, selection, resync);
  return (await db.get(`SELECT 1 AS one FROM pipe_marks WHERE ${sql} LIMIT 1`, ...values)) !== undefined;
}

type Listed = { readonly prefixes: readonly string[] };
const none: Listed = { prefixes: [] };

type MarkRow = { readonly mark_key: string; readonly mark: string };
const pageRows = 500;

/** Whether objects of earlier requests are not loaded yet: the patch would change nothing of their marks. */
async function hasOpen(tx: Queries, pipeId: string, resync: ObjectResync): Promise<boolean> {
  for await (const rows of pagesOf(tx, pipeId, { prefix: "" }, resync)) {
    const isOpen = ({ mark }: MarkRow) => JSON.stringify(mergePatch(JSON.parse(mark), resync.patch)) === mark;
    if (rows.some(isOpen)) return true;
  }
  return false;
}

/** The marks of objects in the order of their keys, in parts that fit into memory and into one statement. */
async function* pagesOf(tx: Queries, pipeId: string, selection: ObjectSelection, resync: ObjectResync) {
  const { sql, values } = conditionOf(pipeId, selection, resync);
  const next = `SELECT mark_key, mark FROM pipe_marks WHERE ${sql} AND mark_key > ? ORDER BY mark_key LIMIT ${pageRows}`;
  for (let after = ""; ; ) {
    const rows = await tx.all<MarkRow>(next, ...values, after);
    if (rows.length > 0) yield rows;
    if (rows.length < pageRows) return;
    after = (rows.at(-1) as MarkRow).mark_key;
  }
}

async function writeAgain(tx: Queries, pipeId: string, rows: readonly MarkRow[], { patch, counter }: ObjectResync) {
  const values = rows.flatMap(({ mark_key, mark }) => {
    const patched = mergePatch(JSON.parse(mark), patch) as JsonObject;
    return [pipeId, mark_key, JSON.stringify({ ...patched, [counter]: Number(patched[counter] ?? 0) + 1 })];
  });
  await tx.run(
    `INSERT INTO pipe_marks (pipe_id, mark_key, mark) VALUES ${rows.map(() => "(?, ?, ?)").join(", ")}
     ON CONFLICT (pipe_id, mark_key) DO UPDATE SET mark = excluded.mark`,
    ...values,
  );
}

function conditionOf(pipeId: string, selection: ObjectSelection, { prefix }: ObjectResync) {
  const key = `${prefix}${prefixOf(selection)}`;
  if ("key" in selection) return { sql: "pipe_id = ? AND mark_key = ?", values: [pipeId, key] };
  return { sql: "pipe_id = ? AND substr(mark_key, 1, length(?)) = ?", values: [pipeId, key, key] };
}

function prefixOf(selection: ObjectSelection): string {
  return "key" in selection ? selection.key : selection.prefix;
}
