/**
 * An engine writes the token of an insert before it gives the inserted part its name. If it is killed in between, it
 * would take the repeated insert for one that it has, and the rows would be lost. So such tokens are removed before the
 * engine starts. Source: `MergeTreeDeduplicationLog` and `MergeTreeSink` of ClickHouse.
 */
import { appendFileSync, closeSync, type Dirent, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";

const logFolder = "deduplication_logs";
/** The end of a log has the inserts that were in progress: some hundred, of about a hundred bytes each. */
const tailBytes = 65_536;
const added = "1";
const dropped = "2";

/** `all_3_5_1` or `all_3_5_1_7`: partition, first and last block, level, and the version of a mutation. */
const partName = /^(.+?)_(\d+)_(\d+)_\d+(?:_\d+)?$/;

type Blocks = { readonly partition: string; readonly first: number; readonly last: number };

/** Returns the number of removed tokens. Only while no engine runs on the directory. */
export function forgetLostInserts(dataDir: string): number {
  return tableFolders(dataDir).reduce((sum, folder) => sum + forgetIn(folder), 0);
}

/** The folders of tables: by UUID, and by name in databases that have none. */
function tableFolders(dataDir: string): string[] {
  return ["store", "data"].flatMap((root) => foldersIn(join(dataDir, root)).flatMap(foldersIn));
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name));
}

function forgetIn(table: string): number {
  const logs = entriesOf(join(table, logFolder)).flatMap(({ name }) => {
    const number = /^deduplication_log_(\d+)\.txt$/.exec(name)?.[1];
    return number === undefined ? [] : [{ name, number: Number(number) }];
  });
  const newest = logs.sort((one, other) => other.number - one.number)[0];
  if (newest === undefined) return 0;
  const log = join(table, logFolder, newest.name);
  const tokens = lastTokens(log);
  const parts = entriesOf(table).flatMap(({ name }) => blocksOf(name) ?? []);
  const lost = [...tokens].filter(([, part]) => !isThere(part, parts));
  if (lost.length > 0) appendFileSync(log, lost.map(([token, part]) => `${dropped}\t${part}\t${token}\n`).join(""));
  return lost.length;
}

/** The tokens at the end of the log that are valid, with their parts. */
function lastTokens(log: string): Map<string, string> {
  const { text, isWhole } = tailOf(log);
  const lines = text.split("\n");
  // The first line of a tail is cut off, and the last one is empty, or was never finished.
  const tokens = new Map<string, string>();
  for (const line of lines.slice(isWhole ? 0 : 1, -1)) {
    const [operation, part, token] = line.split("\t");
    if (part === undefined || token === undefined) continue;
    if (operation === added) tokens.set(token, part);
    else tokens.delete(token);
  }
  return tokens;
}

function tailOf(file: string): { text: string; isWhole: boolean } {
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, tailBytes));
    const read = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    return { text: bytes.toString("latin1", 0, read), isWhole: size <= tailBytes };
  } finally {
    closeSync(descriptor);
  }
}

/** True when the part, or one that it was merged into, has its folder. */
function isThere(name: string, parts: readonly Blocks[]): boolean {
  const part = blocksOf(name);
  // The name has an old form, and is not judged.
  if (part === undefined) return true;
  return parts.some(
    ({ partition, first, last }) => partition === part.partition && first <= part.first && last >= part.last,
  );
}

function blocksOf(name: string): Blocks | undefined {
  const [, partition, first, last] = partName.exec(name) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
