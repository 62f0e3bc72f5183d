/** The engine's own backups: its statements, and the `.backup` file that lists what a backup holds. */
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { identifier, literal, tableName } from "../clickhouse/sql.ts";
import { runOperation } from "./server/operation.ts";

export const engineIndex = ".backup";

/** Bytes of the longest file that may hold a number of rows. */
export const longestNumber = 20;

export type IndexEntry = {
  readonly name: string;
  readonly size: number;
  readonly checksum: string;
  /** Bytes stored in this backup itself: none when the base has them all, the new end when a file has grown. */
  readonly ownBytes: number;
  /** The file of this backup that holds these bytes; undefined when there are none. */
  readonly storedAs: string | undefined;
};

/** Where a backup is, as a statement of the engine names it. */
export type EngineFolder = {
  readonly sql: string;
  /** The engine is a distant server: the statement runs longer than its connection may be silent. */
  readonly isDistant: boolean;
};

/** A folder below the engine's allowed path. */
export function localFolder(path: string): EngineFolder {
  return { sql: `File(${literal(path)})`, isDistant: false };
}

/** Takes a snapshot of every database into `target`, an empty folder below the allowed path. */
export async function backupAll(
  client: ClickHouseClient,
  target: { path: string; basePath: string | undefined; operationId: string },
  signal: AbortSignal,
): Promise<void> {
  const base = target.basePath === undefined ? [] : [`base_backup = File(${literal(target.basePath)})`];
  const settings = [`id = ${literal(target.operationId)}`, ...base].join(", ");
  await client.command(
    `BACKUP ALL EXCEPT DATABASES system, information_schema, INFORMATION_SCHEMA
     TO File(${literal(target.path)}) SETTINGS ${settings}`,
    { signal },
  );
}

/**
 * True once the engine has chosen the backup's content: it writes the first file only after every table's parts are
 * held. Before that there is only its lock file.
 */
export async function snapshotTaken(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  return names.some((name) => name !== ".lock");
}

export type RestoreWhat =
  | { readonly kind: "all" }
  | { readonly kind: "database"; readonly from: string; readonly to: string }
  | { readonly kind: "table"; readonly from: readonly [string, string]; readonly to: readonly [string, string] };

/** `structureOnly` creates empty tables; `intoExisting` fills those. */
export async function restoreFrom(
  client: ClickHouseClient,
  folder: EngineFolder,
  what: RestoreWhat,
  options: { operationId: string; structureOnly?: boolean; intoExisting?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const settings = [
    `id = ${literal(options.operationId)}`,
    // The embedded engine's `default` database has an engine that no other database can have.
    "allow_different_database_def = 1",
    ...(options.structureOnly === true ? ["structure_only = 1"] : []),
    ...(options.intoExisting === true ? ["allow_non_empty_tables = 1"] : []),
  ];
  const sql = `RESTORE ${subject(what)} FROM ${folder.sql} SETTINGS ${settings.join(", ")}`;
  if (folder.isDistant) await runOperation(client, sql, options.operationId, signal);
  else await client.command(sql, { signal });
}

function subject(what: RestoreWhat): string {
  if (what.kind === "all") return "ALL";
  if (what.kind === "database") return `DATABASE ${identifier(what.from)} AS ${identifier(what.to)}`;
  return `TABLE ${tableName(...what.from)} AS ${tableName(...what.to)}`;
}

/** Bytes that a running BACKUP or RESTORE has read so far, and their total. */
export async function operationProgress(client: ClickHouseClient, id: string): Promise<[number, number] | undefined> {
  const [row] = await client.rows<{ done: string; total: string }>(
    `SELECT bytes_read AS done, total_size AS total FROM system.backups WHERE id = ${literal(id)}`,
  );
  return row && [Number(row.done), Number(row.total)];
}

/** SQL functions, as the statements that create them. */
export async function userFunctions(client: ClickHouseClient): Promise<string[]> {
  const rows = await client.rows<{ sql: string }>(
    "SELECT create_query AS sql FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY name",
  );
  return rows.map((row) => row.sql);
}

/** Creates missing functions; they may depend on each other, so the order is found by trying. */
export async function createFunctions(client: ClickHouseClient, functions: readonly string[], signal: AbortSignal) {
  let left = [...functions];
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    const failed: string[] = [];
    for (const sql of left) {
      const guarded = sql.replace(/^CREATE FUNCTION (?!IF NOT EXISTS)/, "CREATE FUNCTION IF NOT EXISTS ");
      await client.command(guarded, { signal }).catch(() => failed.push(sql));
    }
    left = failed;
  }
  if (left.length > 0) throw new Error(`${left.length} SQL functions cannot be created: ${left[0]}`);
}

/**
 * Reads the list of files, and verifies that all of them are complete: on a full disk, the engine reports
 * BACKUP_CREATED for truncated files, including the list.
 */
export async function readIndex(folder: string): Promise<IndexEntry[]> {
  const entries = parseIndex(await readFile(join(folder, engineIndex), "utf8"));
  for (const { storedAs, ownBytes } of entries) {
    if (storedAs === undefined) continue;
    const found = await stat(join(folder, storedAs)).catch(() => undefined);
    if (found?.size !== ownBytes)
      throw incomplete(`${storedAs} has ${found?.size ?? "no"} bytes instead of ${ownBytes}`);
  }
  return entries;
}

/** The entries of a list of files. Throws when the list itself is not complete. */
export function parseIndex(xml: string): IndexEntry[] {
  if (!xml.includes("</contents>")) throw incomplete(`its list of files has only ${xml.length} characters`);
  return [...xml.matchAll(/<file>(.*?)<\/file>/gs)].map(([, body = ""]) => {
    const tag = (name: string) => {
      const found = new RegExp(`<${name}>(.*?)</${name}>`, "s").exec(body)?.[1];
      return found === undefined ? undefined : unescapeXml(found);
    };
    const name = tag("name") ?? "";
    const size = Number(tag("size") ?? 0);
    const ownBytes = tag("use_base") === "true" ? size - Number(tag("base_size") ?? size) : size;
    const storedAs = ownBytes === 0 ? undefined : (tag("data_file") ?? name);
    return { name, size, checksum: tag("checksum") ?? "", ownBytes, storedAs };
  });
}

function incomplete(what: string): Error {
  return new Error(`the engine could not write the whole backup, the disk may be full: ${what}`);
}

/** Points the backup in `folder` to its base in `basePath`, wherever the base was when the backup was made. */
export async function relocateBase(folder: string, basePath: string): Promise<void> {
  const file = join(folder, engineIndex);
  const xml = await readFile(file, "utf8");
  const here = `<base_backup>${escapeXml(`File(${literal(basePath)})`)}</base_backup>`;
  // A new file, never a change in place. A replacer function, because a `$` in the path has no special meaning here.
  await writeFile(
    `${file}.new`,
    xml.replace(/<base_backup>.*?<\/base_backup>/s, () => here),
    { mode: 0o600 },
  );
  await rename(`${file}.new`, file);
}

/** Row counts in the files of a backup, by checksum: the contents of tiny files that are a single number. */
export async function numbersIn(folder: string, entries: readonly IndexEntry[]): Promise<Record<string, number>> {
  const numbers: Record<string, number> = {};
  for (const { size, ownBytes, checksum, storedAs } of entries) {
    if (storedAs === undefined || ownBytes !== size || size > longestNumber || checksum in numbers) continue;
    const number = numberOf(await readFile(join(folder, storedAs), "utf8"));
    if (number !== undefined) numbers[checksum] = number;
  }
  return numbers;
}

/** The number that is the whole content of a file. */
export function numberOf(content: string): number | undefined {
  const text = content.trim();
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Rows per table: the sum of `count.txt` over every part (or of the table itself, for engines without parts). */
export function tableRows(entries: readonly IndexEntry[], counts: Readonly<Record<string, number>>) {
  const tables = new Map<string, { database: string; table: string; rows: number | null }>();
  const table = (database: string, name: string) => {
    const key = `${database}/${name}`;
    const known = tables.get(key) ?? { database: decodeName(database), table: decodeName(name), rows: 0 };
    tables.set(key, known);
    return known;
  };
  for (const { name, checksum } of entries) {
    const [top, database = "", third = "", ...rest] = name.split("/");
    if (top === "metadata" && rest.length === 0 && third.endsWith(".sql")) table(database, third.slice(0, -4));
    if (top !== "data" || rest.at(-1) !== "count.txt" || rest.length > 2) continue;
    const known = table(database, third);
    const rows = counts[checksum];
    known.rows = rows === undefined || known.rows === null ? null : known.rows + rows;
  }
  return [...tables.values()];
}

/** The engine writes every byte of a name that is not a word character as `%XX`. */
export function decodeName(name: string): string {
  return decodeURIComponent(name);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescapeXml(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
