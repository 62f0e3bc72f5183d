/** The form of comments, which Biome does not wrap. */
import { expect, test } from "vitest";
import { filesBelow, read } from "../../scripts/house.ts";

const folders = ["src", "harness", "test", "bench", "soak", "scripts", "console"];
/** Comments that begin their line; a comment after code is as long as Biome leaves the line. */
const comment = /(?<=^[ \t]*)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;
/** The line width of `biome.json`. */
const maxColumns = 120;

const files = folders.flatMap((folder) => [".ts", ".tsx", ".cjs"].flatMap((end) => filesBelow(folder, end)));
const guides = ["README.md", "CHANGELOG.md", ...filesBelow("docs", ".md")];
const found = (where: readonly string[], look: (text: string) => string[]) =>
  where.flatMap((file) => look(read(file)).map((line) => `${file}: ${line}`));

test("no line of a comment is longer than 120 columns", () => {
  expect(found(files, longLines)).toEqual([]);
});

test("no sentence of a comment, a page or a text of the program begins with Of or For", () => {
  const texts = files.filter((file) => /^(src|console)\//.test(file));
  expect(found(texts, (text) => text.match(/["'`>](?:Of|For) \w+/g) ?? [])).toEqual([]);
  const inComments = found(files, (text) => [...text.matchAll(comment)].flatMap(([words]) => fragments(words)));
  expect([...inComments, ...found(guides, fragments)]).toEqual([]);
});

test("nothing is called no thing in code, comments and pages", () => {
  expect(found([...files, ...guides], foreign)).toEqual([]);
});

test("fragments are found at the beginning of a comment, a page's line and a sentence, and nowhere else", () => {
  expect(fragments("/** Of a row. */")).toEqual(["Of a row."]);
  expect(fragments("/**\n * Reads it. For a pipe\n * with views it waits. */")).toEqual([
    "For a pipe with views it waits.",
  ]);
  expect(fragments("| `a` | For rows |\n\n- Of users")).toEqual(["For rows |", "Of users"]);
  expect(fragments("// Rows for a table of `Of` and For.")).toEqual([]);
});

test("long lines are found in comments, unless a URL makes them long", () => {
  const words = "word ".repeat(25);
  const url = `https://example.com/${"path/".repeat(25)}`;
  expect(longLines(`const a = "${words}";\n`)).toEqual([]);
  expect(longLines(`/** ${words} */\n/** Short.\n * ${words}*/\n  // ${words}\n`)).toHaveLength(3);
  expect(longLines(`// ${url}\n/**\n * See ${url}\n */\n`)).toEqual([]);
});

function longLines(text: string): string[] {
  const lines = text.split("\n");
  const numbers = [...text.matchAll(comment)].flatMap(({ index, 0: words }) => {
    const first = text.slice(0, index).split("\n").length - 1;
    return words.split("\n").map((_, offset) => first + offset);
  });
  return numbers
    .map((number) => lines[number] as string)
    .filter((line) => line.length > maxColumns && line.replaceAll(/https?:\/\/\S+/g, "").length > maxColumns);
}

/** "Is no" before a noun, where a native reader expects "is not a". */
function foreign(text: string): string[] {
  return [...text.matchAll(/(?<!\b[Tt]here )(?<!\bwhere )\b(?:is|are|was|were) no (?!longer\b|more\b)[A-Za-z]+/g)].map(
    ([words]) => words,
  );
}

/** Sentences that begin with "Of" or "For": a reader has to guess what they are about. */
function fragments(text: string): string[] {
  return text
    .split(/\n\s*(?:\*?\s*\n|[-|#]|\d+\.)/)
    .map((part) => part.replaceAll(/\s*\n\s*\*?\s*/g, " "))
    .flatMap((part) => [...part.matchAll(/(?:^|[.?!|]\s+|^\/\*\*?\s*|^\/\/\s*|^[-#|\s]+)((?:Of|For) [^.]*\.?)/g)])
    .map(([, sentence = ""]) => sentence.replace(/\s*\*\/$/, "").trim());
}
