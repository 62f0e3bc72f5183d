/** The form of comments, which Biome does not wrap. */
import { expect, test } from "vitest";
import { filesBelow, read } from "../../scripts/house.ts";

const folders = ["src", "harness", "test", "bench", "soak", "scripts", "console"];
/** Comments that begin their line; a comment after code is as long as Biome leaves the line. */
const comment = /(?<=^[ \t]*)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;
/** The line width of `biome.json`. */
const maxColumns = 120;

test("no line of a comment is longer than 120 columns", () => {
  const long = folders
    .flatMap((folder) => [".ts", ".tsx", ".cjs"].flatMap((end) => filesBelow(folder, end)))
    .flatMap((file) => longLines(read(file)).map((line) => `${file}: ${line}`));
  expect(long).toEqual([]);
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
