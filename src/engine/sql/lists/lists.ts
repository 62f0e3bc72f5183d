/** The allow-lists of SQL: data files in `lists/`, compared with the installed engine by `lists.real.test.ts`. */
import { readFileSync } from "node:fs";

/** The names of a data file by the title of their section. */
export function readSections(file: string): Map<string, readonly string[]> {
  const text = readFileSync(new URL(`./${file}`, import.meta.url), "utf8");
  const sections = new Map<string, string[]>();
  let names: string[] | undefined;
  for (const line of text.split("\n")) {
    const title = /^\[(.+)\]$/.exec(line)?.[1];
    if (title !== undefined) {
      names = [];
      sections.set(title, names);
    } else if (!line.startsWith("#")) names?.push(...line.split(" ").filter((name) => name !== ""));
  }
  return sections;
}

/** Names of all sections whose title begins with `prefix`, in lower case when `fold` is given. */
export function namesBelow(
  sections: ReadonlyMap<string, readonly string[]>,
  prefix: string,
  fold: "lower" | "exact" = "exact",
): ReadonlySet<string> {
  const names = [...sections].filter(([title]) => title.startsWith(prefix)).flatMap(([, list]) => list);
  return new Set(fold === "lower" ? names.map((name) => name.toLowerCase()) : names);
}

const functionSections = readSections("functions.txt");
const nameSections = readSections("names.txt");
const nodeSections = readSections("nodes.txt");
const settingSections = readSections("settings.txt");

/**
 * Functions are compared in lower case: some are case-insensitive in the engine, and no refused one is spelled like an
 * allowed one (held by a test).
 */
export const functions = {
  allowed: namesBelow(functionSections, "allowed", "lower"),
  refused: namesBelow(functionSections, "refused", "lower"),
  /** The first argument names a dictionary. */
  dictionary: namesBelow(functionSections, "allowed: dictionary", "lower"),
} as const;

export const tableFunctions = {
  allowed: namesBelow(nameSections, "table functions allowed", "lower"),
  objectStorage: namesBelow(nameSections, "table functions allowed: object storage", "lower"),
  /** The first arguments name a table or a dictionary of this service. */
  thisService: namesBelow(nameSections, "table functions allowed: read this service", "lower"),
  refused: namesBelow(nameSections, "table functions refused", "lower"),
} as const;

/**
 * Names in lower case that no function of a user may have: a rule would take a clause of a definition for its call, or
 * its call for a clause.
 */
export const reservedNames: ReadonlySet<string> = new Set(
  [
    ...["clauses", "table functions", "table engines", "database engines", "dictionary sources", "dictionary layouts"],
    ...["types", "codecs", "index types", "tokenizers"],
  ].flatMap((title) => [...namesBelow(nameSections, title, "lower")]),
);

/** What follows TYPE in statistics and projections; the tree shows it as a function. */
export const partTypes = namesBelow(nameSections, "statistics and projection types");

/** Kinds of nodes in the tree of a statement (`../tree/read-tree.ts`); a blank is written as `_`. */
export const nodeKinds = {
  all: namesBelow(nodeSections, "nodes of the tree"),
  statements: namesBelow(nodeSections, "nodes of the tree: statements"),
} as const;

/** Formats allowed for reading object storage, in lower case. */
export const inputFormats = namesBelow(nameSections, "input formats allowed", "lower");

export const engines = {
  tables: namesBelow(nameSections, "table engines allowed"),
  objectStorage: namesBelow(nameSections, "table engines allowed: object storage"),
  databases: namesBelow(nameSections, "database engines allowed"),
} as const;

export const dictionaries = {
  sources: namesBelow(nameSections, "dictionary sources allowed"),
  layouts: namesBelow(nameSections, "dictionary layouts allowed"),
} as const;

/** Names that take arguments in definitions: types, codecs, index types, tokenizers. */
export const definitionNames: ReadonlySet<string> = new Set(
  ["types", "codecs", "index types", "tokenizers"].flatMap((title) => [...namesBelow(nameSections, title, "lower")]),
);

/** Types of data, in lower case. */
export const typeNames = namesBelow(nameSections, "types", "lower");

export const settingNames = {
  allowed: namesBelow(settingSections, "allowed"),
  /** The engine checks a bound of their values, and not that of DEFAULT. */
  bounded: namesBelow(settingSections, "allowed: queries, with a bound"),
  judged: namesBelow(settingSections, "judged"),
  refused: namesBelow(settingSections, "refused"),
} as const;
