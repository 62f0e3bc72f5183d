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
  /** References that have no value; their members keep the reference. */
  readonly missing: readonly { readonly path: string; readonly message: string }[];
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
    const missing = replaceReferences(document, { env: shell.io.env, variables, folder });
    found.push({ value: contentOf(document, placeOf([])), placeOf, missing });
  }
  return found;
}

/** Throws where aliases repeat so much that the content has no end, or contain themselves. */
function contentOf(document: Document.Parsed, place: string): Record<string, unknown> {
  try {
    const content = document.toJS() as Record<string, unknown>;
    JSON.stringify(content);
    return content;
  } catch {
    throw fileError(place, "has aliases that contain themselves, or repeat too much; write their content out");
  }
}

/** The only document of a file. */
export async function readDocument(shell: Shell, file: string): Promise<Record<string, unknown>> {
  const [document, second] = await readDocuments(shell, file);
  if (document === undefined || second !== undefined) throw usageError(`${file} must have one document`);
  const [missing] = document.missing;
  if (missing !== undefined) throw fileError(document.placeOf(missing.path.split(".")), missing.message);
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
};

const reference = /\$\{(env|file|var):([^}]+)\}/g;

/** Replaces references in scalar values and returns those without a value. */
function replaceReferences(document: Document.Parsed, references: References): FileDocument["missing"] {
  const missing: { path: string; message: string }[] = [];
  const visit = (node: unknown, path: readonly (string | number)[]): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) visit(value, [...path, String(isScalar(key) ? key.value : key)]);
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) visit(item, [...path, i]);
    } else if (isScalar(node) && typeof node.value === "string") {
      node.value = node.value.replaceAll(reference, (text, kind: string, name: string) => {
        const value = referenced(kind, name, references);
        if (value === undefined) missing.push({ path: path.join("."), message: remedyOf(kind, name) });
        return value ?? text;
      });
    }
  };
  visit(document.contents, []);
  return missing;
}

function referenced(kind: string, name: string, { env, variables, folder }: References): string | undefined {
  if (kind === "env") return env[name];
  if (kind === "var") return variables[name];
  try {
    return readFileSync(resolve(folder, name), "utf8").replace(/\r?\n$/, "");
  } catch {
    return undefined;
  }
}

function remedyOf(kind: string, name: string): string {
  if (kind === "file") return `cannot read the file ${name}`;
  return kind === "env" ? `the environment has no ${name}` : `there is no --var ${name}=VALUE`;
}
