/** Paths that documents and comments name. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { filesBelow, read, root } from "../../scripts/house.ts";

const folders = ["src", "harness", "test", "bench", "soak", "scripts", "console"];
const named = new RegExp(String.raw`(?<![\w./@<>-])(?:${folders.join("|")}|docs)\/[\w./-]*\w`, "g");
/** Also a file beside or below the one that names it. */
const fileName = /(?<![\w./:@<>-])(?:[\w.-]+\/)*[a-z][\w.-]*\.(?:ts|cjs|md|sql|json|java|py)\b/g;
const comment = /(?<=^[ \t]*)\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

test("every path that the documents name exists", () => {
  const documents = ["AGENTS.md", "README.md", "CONTRIBUTING.md", "console/README.md", ...filesBelow("docs", ".md")];
  const inCode = new RegExp(`\`(${named.source}/?)\``, "g");
  const missing = documents.flatMap((file) =>
    [...read(file).matchAll(inCode)]
      .map(([, path]) => path as string)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test("every path that a comment names exists", () => {
  const code = folders.flatMap((folder) =>
    [".ts", ".tsx", ".cjs", ".java", ".py"].flatMap((end) => filesBelow(folder, end)),
  );
  const missing = code.flatMap((file) =>
    pathsInComments(read(file))
      .filter((path) => !isThere(path, file))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test("paths in comments are found, and those in strings are not", () => {
  const text = `/** See \`src/lib/loop.ts\` and \`beside.ts\`, in src/lib. */\nconst a = "src/none.ts"; // docs/errors.md`;
  expect(pathsInComments(text)).toEqual(["src/lib/loop.ts", "beside.ts", "src/lib", "docs/errors.md"]);
  expect(isThere("loop.ts", "src/lib/abort.ts")).toBe(true);
  expect(isThere("none.ts", "src/lib/abort.ts")).toBe(false);
});

function pathsInComments(text: string): string[] {
  return [...text.matchAll(comment)].flatMap(([words]) => [
    ...new Set([...words.matchAll(new RegExp(`${named.source}|${fileName.source}`, "g"))].map(([path]) => path)),
  ]);
}

function isThere(path: string, file: string): boolean {
  return existsSync(join(root, path)) || existsSync(join(root, dirname(file), path));
}
