/** Tables and objects that start over alone: their marks in the ledger, changed while no worker runs. */
import type { Json } from "../lib/json.ts";
import type { ObjectResync, ObjectSelection, TableResync } from "../sources/partial-resync.ts";
import type { Queries } from "./database.ts";

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
  const patch = JSON.stringify(resync.patch);
  // Of earlier requests, what is not done yet.
  const isOpen = await tx.get(
    "SELECT 1 AS one FROM pipe_marks WHERE pipe_id = ? AND substr(mark_key, 1, ?) = ? AND json_patch(mark, ?) = mark LIMIT 1",
    ...[pipeId, resync.prefix.length, resync.prefix, patch],
  );
  const list = [pipeId, resync.list];
  const kept = await tx.get<{ mark: string }>(
    "SELECT mark FROM pipe_marks WHERE pipe_id = ? AND mark_key = ?",
    ...list,
  );
  const before = isOpen === undefined || kept === undefined ? [] : (JSON.parse(kept.mark) as Listed).prefixes;
  for (const selection of selections) {
    const { sql, values } = conditionOf(pipeId, selection, resync);
    const counter = `$.${resync.counter}`;
    await tx.run(
      `UPDATE pipe_marks SET mark = json_set(json_patch(mark, ?), ?, coalesce(json_extract(mark, ?), 0) + 1) WHERE ${sql}`,
      ...[patch, counter, counter, ...values],
    );
  }
  const prefixes = [...new Set([...before, ...selections.map(prefixOf)])];
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

function conditionOf(pipeId: string, selection: ObjectSelection, { prefix }: ObjectResync) {
  const key = `${prefix}${prefixOf(selection)}`;
  if ("key" in selection) return { sql: "pipe_id = ? AND mark_key = ?", values: [pipeId, key] };
  return { sql: "pipe_id = ? AND substr(mark_key, 1, length(?)) = ?", values: [pipeId, key, key] };
}

function prefixOf(selection: ObjectSelection): string {
  return "key" in selection ? selection.key : selection.prefix;
}
