/** What the console may import: it runs in browsers, from files of its own, and knows the server by its API alone. */
import { expect, test } from "vitest";
import { circlesOf, filesBelow, importsOf, importsOfAll, read } from "../../scripts/house.ts";

const files = [".ts", ".tsx"].flatMap((ending) => filesBelow("console/src", ending));
const program = files.filter((file) => !/\.test\.tsx?$/.test(file));
const imports = importsOfAll(program);

/** Folders of `console/src`, from the lowest up; a file imports from its own folder and from lower ones. */
const levels = [
  ["lib", "theme"],
  ["api"],
  ["parts"],
  ["charts", "editor", "grid"],
  ["features"],
  ["app"],
  ["main.tsx"],
];
/** The only file of the shell that features import: their routes hang on it. */
const rootRoute = "console/src/app/root-route.tsx";
const operationTable = "src/cli/client/operations.ts";
/** What runs of the server: tables, conditions, and what the kinds of sources say of themselves. */
const plainModules = [
  operationTable,
  "src/api/alert-condition.ts",
  "src/api/attention.ts",
  "src/sources/contract/descriptions.ts",
  "src/sources/contract/description.ts",
  "src/sources/contract/fields.ts",
];

function levelOf(file: string): number {
  const name = file.split("/")[2] as string;
  return levels.findIndex((level) => level.includes(name));
}

function isAllowed(file: string, target: string): boolean {
  if (plainModules.includes(target) || target === rootRoute || target.startsWith("src/api/")) return true;
  const [own, other] = [file.split("/"), target.split("/")];
  if (own[2] === "features" && other[2] === "features") return own[3] === other[3];
  return own[2] === other[2] || levelOf(target) < levelOf(file);
}

test("files stand in a known folder, and import from their own or from lower ones", () => {
  expect(program.filter((file) => levelOf(file) === -1)).toEqual([]);
  const wrong = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => !isAllowed(file, target)).map((target) => `${file} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("a feature knows no other feature, and nothing of the shell but the root route", () => {
  const feature = "console/src/features/pipes/list.tsx";
  expect(isAllowed(feature, "console/src/features/pipes/row.tsx")).toBe(true);
  expect(isAllowed(feature, "console/src/features/services/row.tsx")).toBe(false);
  expect(isAllowed(feature, "console/src/app/shell.tsx")).toBe(false);
  expect(isAllowed(feature, rootRoute)).toBe(true);
  expect(isAllowed("console/src/parts/table.tsx", feature)).toBe(false);
});

test("files import one another in no circle", () => {
  expect(circlesOf(imports)).toEqual([]);
});

test("of the server it imports types of src/api and plain tables, nothing that runs", () => {
  const wrong = program.flatMap((file) => {
    const values = [...read(file).matchAll(/^import (?!type\b)[^"';]*?from "([^"]*\/src\/[^"]+)"/gm)];
    return values
      .filter(([, path]) => !plainModules.some((plain) => (path as string).endsWith(plain)))
      .map(([, path]) => `${file} -> ${path}`);
  });
  expect(wrong).toEqual([]);
  const open = [...plainModules];
  for (const file of open) open.push(...importsOf(file).filter((target) => !open.includes(target)));
  expect(open.filter((file) => /^import [^.]*?from "[^.]/m.test(read(file)))).toEqual([]);
  expect(program.flatMap(importsOf).filter((target) => target.startsWith("src/api/")).length).toBeGreaterThan(0);
});

test("nothing is loaded from another origin, and no markup is made of text", () => {
  const markup = /dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write/;
  expect(files.filter((file) => markup.test(read(file)))).toEqual([]);
  const foreign = /\b(?:src|href)=\{?["'`]https?:|\bfetch\(["'`]https?:|@import|url\(["']?https?:/;
  const all = [...files, ...filesBelow("console", ".css"), "console/index.html"];
  expect(all.filter((file) => foreign.test(read(file)))).toEqual([]);
});

test("what is typed becomes a number in one place, which makes no NaN of it", () => {
  const own = program.filter((file) => file.startsWith("console/src/features/"));
  expect(own.filter((file) => /\bNumber\((?:text|form)\b/.test(read(file)))).toEqual([]);
});

test("the package `codemirror`, which is version 5 by mistake, is imported nowhere", () => {
  expect(files.filter((file) => /from "codemirror"/.test(read(file)))).toEqual([]);
});
