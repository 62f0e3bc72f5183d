/**
 * Makes a staged backup of a cluster's server restorable on a single one: `ReplicatedMergeTree` and the like become
 * tables without replicas, and `Replicated` databases ordinary ones. The parts of both are the same.
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Token, tokenize } from "../../clickhouse/lexer.ts";
import { engineIndex, parseIndex } from "../engine-backup.ts";

/** Changes the definitions in `folder`, and their sizes in its list of files. */
export async function forSingleServer(folder: string): Promise<void> {
  const index = join(folder, engineIndex);
  let xml = await readFile(index, "utf8");
  for (const { name, size, storedAs } of parseIndex(xml)) {
    if (storedAs === undefined || !name.startsWith("metadata/") || !name.endsWith(".sql")) continue;
    const statement = await readFile(join(folder, storedAs), "utf8");
    const changed = withoutReplicas(statement);
    if (changed === statement) continue;
    await replace(join(folder, storedAs), changed);
    const entry = `<name>${name}</name><size>`;
    xml = xml.replace(`${entry}${size}<`, () => `${entry}${Buffer.byteLength(changed)}<`);
  }
  await replace(index, xml);
}

/** The definition of a table or database for one server; any other statement is returned as it is. */
export function withoutReplicas(statement: string): string {
  const tokens = tokenize(statement);
  const at = tokens.findIndex((token, index) => isEngine(token) && tokens[index + 1]?.text === "=");
  const engine = tokens[at + 2];
  if (at < 0 || engine === undefined) return statement;
  const [, type] = /^(?:Replicated|Shared)(\w*)$/.exec(engine.text) ?? [];
  if (type === undefined) return statement;
  const before = statement.slice(0, engine.start);
  if (type === "") return `${before}Atomic${statement.slice(endOfArguments(tokens, at + 3) ?? engine.end)}`;
  return before + type + withoutPath(statement, tokens.slice(at + 3), engine.end);
}

/** What follows the engine's name, without the path in Keeper and the replica's name. */
function withoutPath(statement: string, tokens: readonly Token[], from: number): string {
  const [open, path, , replica, after] = tokens;
  const hasPath = open?.text === "(" && path?.kind === "string" && replica?.kind === "string";
  if (!hasPath) return statement.slice(from);
  return `(${statement.slice(after?.text === "," ? after.end : replica.end).trimStart()}`;
}

function endOfArguments(tokens: readonly Token[], from: number): number | undefined {
  if (tokens[from]?.text !== "(") return undefined;
  return tokens.slice(from).find(({ text }) => text === ")")?.end;
}

function isEngine({ kind, text }: Token): boolean {
  return kind === "word" && text.toUpperCase() === "ENGINE";
}

/** A new file, so that a reader finds the old one or the new one whole. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
