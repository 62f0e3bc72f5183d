/** Allowed imports between rooms, and the only importer of each driver. `npm run check` prints the rooms by layer. */
import { join, matchesGlob, relative } from "node:path";
import { describe, expect, test } from "vitest";
import {
  circlesOf,
  filesBelow,
  importsOf,
  importsOfAll,
  programFiles,
  read,
  roomOf,
  root,
  wrongImports,
} from "../../scripts/house.ts";

const files = programFiles();
const imports = importsOfAll(files);

/** Programs and threads that a file starts by file name. */
function startedBy(file: string): string[] {
  const text = read(file);
  const processes = text.matchAll(/\bprocess(?:File|Url)\("([a-z-]+)"\)/g);
  const others = text.matchAll(/new URL\("(\.[^"]*\.ts)", import\.meta\.url\)/g);
  return [
    ...[...processes].map(([, name]) => `src/processes/${name}.ts`),
    ...[...others].map(([, path]) => relative(root, join(root, file, "..", path as string))),
  ];
}

describe("imports", () => {
  test("go down, never up, never sideways between rooms, lazy and type imports included", () => {
    expect(wrongImports(imports)).toEqual([]);
  });

  test("make no circle, lazy and type imports included", () => {
    expect(circlesOf(imports)).toEqual([]);
  });

  test("are found in every form, and so are circles of them", () => {
    expect(importsOf("src/sources/connectors.ts")).toEqual([
      "src/lib/json.ts",
      "src/sources/contract/descriptions.ts",
      "src/sources/contract/source.ts",
      ...["message-broker", "object-storage", "managed-stream", "push", "relational-db"].map(
        (kind) => `src/sources/${kind}/connector.ts`,
      ),
    ]);
    const ring = { a: ["b"], b: ["c", "d"], c: ["a"], d: [] };
    expect(circlesOf(new Map(Object.entries(ring))).map((circle) => circle.sort())).toEqual([["a", "b", "c"]]);
    const up = new Map([["src/lib/abort.ts", ["src/http/server/server.ts"]]]);
    const sideways = new Map([["src/pipes/tables.ts", ["src/charts/charts.ts"]]]);
    expect([wrongImports(up), wrongImports(sideways)]).toEqual([
      ["src/lib/abort.ts -> src/http/server/server.ts"],
      ["src/pipes/tables.ts -> src/charts/charts.ts"],
    ]);
  });

  test("do not cross between the two processes of pipes", () => {
    const crossing = [...imports].flatMap(([file, targets]) => {
      const side = /^src\/pipes\/(control|worker)\//.exec(file)?.[1];
      const other = side === "control" ? "worker" : "control";
      return side === undefined ? [] : targets.filter((target) => target.startsWith(`src/pipes/${other}/`));
    });
    expect(crossing).toEqual([]);
  });
});

test("what stands beside src imports from it, from the harness and from what it tests", () => {
  const mayImport: Readonly<Record<string, readonly string[]>> = {
    harness: ["harness", "src"],
    scripts: ["scripts", "src"],
    bench: ["bench", "harness", "src"],
    // The goals of soaks are in the table of the benchmarks.
    soak: ["soak", "bench", "harness", "src"],
    test: ["test", "bench", "harness", "scripts", "src"],
  };
  const wrong = Object.entries(mayImport).flatMap(([folder, known]) =>
    filesBelow(folder, ".ts").flatMap((file) =>
      importsOf(file)
        .filter((target) => !known.includes(target.split("/")[0] as string))
        .map((target) => `${file} -> ${target}`),
    ),
  );
  expect(wrong).toEqual([]);
});

test("the table of AGENTS.md names the room and the layer of every file", () => {
  const rows = [...read("AGENTS.md").matchAll(/^\| (\d) +\| ([^|]+) \|/gm)].flatMap(([, layer, paths]) =>
    [...(paths as string).matchAll(/`([^`]+)`/g)].map(([, path]) => ({ layer: Number(layer), path: path as string })),
  );
  const inTable = (file: string) =>
    rows.filter(({ path }) => matchesGlob(file, path.endsWith("/") ? `${path}**` : path));
  const wrong = files.filter((file) => {
    const found = inTable(file);
    return !found.some(({ layer }) => layer === roomOf(file).layer);
  });
  expect(rows.length).toBeGreaterThan(15);
  expect(wrong).toEqual([]);
});

test("every program and thread stands in src/processes", () => {
  const started = files.flatMap(startedBy);
  expect(started.length).toBeGreaterThan(3);
  expect(started.filter((file) => !file.startsWith("src/processes/"))).toEqual([]);
});

test("every file that is started exists", () => {
  const all = ["src", "harness", "test", "bench", "soak", "scripts"].flatMap((folder) => filesBelow(folder, ".ts"));
  const known = new Set(all);
  expect(all.flatMap(startedBy).filter((file) => !known.has(file))).toEqual([]);
});

test("a driver has one importer", () => {
  for (const driver of ["node:sqlite", "chdb"]) {
    const importers = files.filter((file) => new RegExp(`(from|import\\()\\s*"${driver}"`).test(read(file)));
    expect(importers.length, driver).toBeLessThanOrEqual(1);
  }
});

test("connectors open connections by src/outgoing only", () => {
  const direct = /from "node:(?:http2|https|tls)"|\bcreateConnection\b.*from "node:net"|\bfetch\(["`]/;
  const found = files.filter((file) => /^src\/(sources|pipes)\//.test(file) && direct.test(read(file)));
  // A CA option, and a request by an agent of src/outgoing.
  const known = ["src/sources/messages/formats/registry.ts", "src/sources/relational-db/server/login.ts"];
  expect(found.filter((file) => !known.includes(file))).toEqual([]);
});
