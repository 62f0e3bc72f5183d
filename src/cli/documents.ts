/** YAML and JSON files with references to secrets: `${env:NAME}` and `${file:PATH}`. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from "yaml";
import { CliError, exitCodes, usageError } from "./errors.ts";
import type { Shell } from "./shell.ts";

export type FileDocument = {
  readonly value: Readonly<Record<string, unknown>>;
  /** `file:line` of a member of the document, or of its nearest known parent. */
  readonly placeOf: (path: readonly (string | number)[]) => string;
  /** Paths of the members that a reference was put into. */
  readonly secrets: readonly string[];
};

/** A mistake in a file: exit code 2. */
export function fileError(place: string, message: string): CliError {
  return new CliError(`${place}: ${message}`, { exitCode: exitCodes.usage, code: "FILE_INVALID" });
}

/** The documents of a file, or of stdin for `-`. Throws with file and line for what is not YAML. */
export async function readDocuments(
  shell: Shell,
  file: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<FileDocument[]> {
  const text = await shell.read(file);
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const shown = file === "-" ? "stdin" : file;
  const found: FileDocument[] = [];
  for (const document of Array.isArray(documents) ? (documents as Document.Parsed[]) : []) {
    const [error] = document.errors;
    if (error !== undefined) throw fileError(`${shown}:${lines.linePos(error.pos[0]).line}`, error.message);
    if (document.contents === null) continue;
    const placeOf = (path: readonly (string | number)[]) => `${shown}:${lineOf(document, lines, path)}`;
    if (!isMap(document.contents)) throw fileError(placeOf([]), "must be a mapping");
    const folder = file === "-" ? shell.io.cwd : dirname(resolve(shell.io.cwd, file));
    const secrets = replaceReferences(document, { env: { ...shell.io.env }, variables, folder, placeOf });
    found.push({ value: document.toJS() as Record<string, unknown>, placeOf, secrets });
  }
  return found;
}

/** The only document of a file. */
export async function readDocument(shell: Shell, file: string): Promise<Record<string, unknown>> {
  const [document, second] = await readDocuments(shell, file);
  if (document === undefined || second !== undefined) throw usageError(`${file} must have one document`);
  return { ...document.value };
}

function lineOf(document: Document.Parsed, lines: LineCounter, path: readonly (string | number)[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = nodeAt(document.contents as Node | null, path.slice(0, length));
    const start = node?.range?.[0];
    if (start !== undefined) return lines.linePos(start).line;
  }
  return 1;
}

/** The key of a member of a mapping, so that its line is the one that names it. */
function nodeAt(root: Node | null, path: readonly (string | number)[]): Node | undefined {
  let node: Node | null | undefined = root;
  let key: Node | undefined;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === part);
      if (pair === undefined) return undefined;
      key = pair.key as Node;
      node = pair.value as Node | null;
    } else if (isSeq(node)) {
      key = undefined;
      node = node.items[Number(part)] as Node | undefined;
    } else return undefined;
  }
  return key ?? node ?? undefined;
}

type References = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly placeOf: (path: readonly (string | number)[]) => string;
};

const reference = /\$\{(env|file|var):([^}]+)\}/g;

/** Replaces references in scalar values and returns the paths of those that may be secret. */
function replaceReferences(document: Document.Parsed, references: References): string[] {
  const secrets: string[] = [];
  const visit = (node: unknown, path: readonly (string | number)[]): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) visit(value, [...path, String(isScalar(key) ? key.value : key)]);
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) visit(item, [...path, i]);
    } else if (isScalar(node) && typeof node.value === "string") {
      const text = node.value;
      if (/\$\{(env|file):/.test(text)) secrets.push(path.join("."));
      node.value = text.replaceAll(reference, (_, kind: string, name: string) =>
        referenced(kind, name, path, references),
      );
    }
  };
  visit(document.contents, []);
  return secrets;
}

function referenced(kind: string, name: string, path: readonly (string | number)[], given: References): string {
  const { env, variables, folder, placeOf } = given;
  if (kind === "file") {
    try {
      return readFileSync(resolve(folder, name), "utf8").replace(/\r?\n$/, "");
    } catch {
      throw fileError(placeOf(path), `cannot read the file ${name}`);
    }
  }
  const value = kind === "env" ? env[name] : variables[name];
  if (value !== undefined) return value;
  const remedy = kind === "env" ? `the environment has no ${name}` : `add --var ${name}=VALUE`;
  throw fileError(placeOf(path), remedy);
}
