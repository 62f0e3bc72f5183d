/** `docs/glossary.md` and the code agree: one word for one thing, and the words that were replaced stay away. */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesBelow, read, roomOf, root } from "../../scripts/house.ts";

type Term = {
  readonly term: string;
  readonly code: readonly (readonly [name: string, file: string])[];
  readonly replaced: readonly string[];
};

const files = ["src", "harness"].flatMap((folder) => filesBelow(folder, ".ts"));

const terms: Term[] = read("docs/glossary.md")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| term ") && !line.startsWith("| ---"))
  .map((line) => {
    const [term = "", , code = "", replaced = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const named = [...code.matchAll(/`([^`]+)` in `([^`]+)`/g)].map(
      ([, name = "", file = ""]) => [name, file] as const,
    );
    return { term, code: named, replaced: [...replaced.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word) };
  });

/** Names that a file exports by declaring them. */
function exportedNames(file: string): string[] {
  const declared =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|type|interface|enum) (\w+)/gm;
  const unpacked = /^export const \{([^}]+)\}/gm;
  const text = read(file);
  return [
    ...[...text.matchAll(declared)].map(([, name = ""]) => name),
    ...[...text.matchAll(unpacked)].flatMap(([, names = ""]) => names.split(",").map((name) => name.trim())),
  ];
}

/** The file name; of a test, that of its subject. */
function moduleName(file: string): string {
  return basename(file).replace(/(\.real)?\.test\.ts$/, ".ts");
}

describe("names", () => {
  test("no name is exported by two files of a room, nor by a file of a room and one of lib", () => {
    const owners = new Map<string, Set<string>>();
    const rooms = new Map<string, Set<string>>();
    for (const file of files.filter((path) => path.startsWith("src/"))) {
      const room = roomOf(file).name;
      for (const name of exportedNames(file)) {
        const key = `${room}: ${name}`;
        owners.set(key, (owners.get(key) ?? new Set()).add(file));
        rooms.set(name, (rooms.get(name) ?? new Set()).add(room));
      }
    }
    expect(owners.size).toBeGreaterThan(500);
    expect([...owners].filter(([, places]) => places.size > 1).map(([name, places]) => [name, ...places])).toEqual([]);
    expect([...rooms].filter(([, names]) => names.size > 1 && names.has("lib"))).toEqual([]);
  });

  test("words that were replaced are neither a name nor a file", () => {
    const replaced = new Set(terms.flatMap((term) => term.replaced));
    expect(replaced.size).toBeGreaterThan(50);
    const back = files.flatMap((file) =>
      [moduleName(file), ...exportedNames(file)]
        .filter((name) => replaced.has(name))
        .map((name) => `${name} in ${file}`),
    );
    expect(back).toEqual([]);
  });

  test("what the glossary names exists", () => {
    expect(terms.length).toBeGreaterThan(30);
    const missing = terms.flatMap(({ term, code }) =>
      code.length === 0
        ? [`${term}: no code`]
        : code
            .filter(([name, file]) => !existsSync(join(root, file)) || !exportedNames(file).includes(name))
            .map(String),
    );
    expect(missing).toEqual([]);
  });

  test("a term stands once, and is not one of the replaced words", () => {
    const words = terms.flatMap(({ term }) => term.split(", "));
    expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([]);
    const names = new Set(terms.flatMap(({ code }) => code.map(([name]) => name)));
    expect(terms.flatMap(({ replaced }) => replaced).filter((word) => names.has(word))).toEqual([]);
  });
});
