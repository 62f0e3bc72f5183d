/** The house rules that Biome cannot hold. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { generatedFiles } from "../../scripts/generated-files.ts";
import { sourceKinds } from "../../src/sources/registry.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const maxLines = 400;

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
}

const sources = filesBelow("src", ".ts");
const code = [
  ...sources,
  ...["harness", "test", "bench", "soak", "demo", "scripts"].flatMap((folder) => filesBelow(folder, ".ts")),
];
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** Rooms by layer; a file may import from lower layers and from its own room. */
const layers: [RegExp, number][] = [
  [/^src\/(main|bootstrap|network)\.ts$/, 9],
  [/^src\/processes\//, 9],
  [/^src\/http\//, 8],
  [/^src\/(services|pipes|backups|charts)\//, 7],
  [/^src\/engine\//, 6],
  [/^src\/config\.ts$/, 5],
  [/^src\/endpoint\//, 5],
  [/^src\/sources\/(source|registry|connectors|schema-registry)\.ts$/, 2],
  [/^src\/sources\/[^/]+\/kind\.ts$/, 2],
  [/^src\/sources\/(aws|messages)\//, 3],
  [/^src\/sources\//, 4],
  [/^src\/store\//, 4],
  [/^src\/api\//, 3],
  [/^src\/(clickhouse|confinement|outgoing)\//, 1],
  [/^src\/lib\//, 0],
];

function layerOf(file: string): number {
  const found = layers.find(([pattern]) => pattern.test(file));
  if (found === undefined) throw new Error(`${file} stands in no room of AGENTS.md`);
  return found[1];
}

function roomOf(file: string): string {
  return file
    .split("/")
    .slice(0, file.startsWith("src/sources/") ? 3 : 2)
    .join("/");
}

/** Static imports of our own files; lazy `import()` of a connector body by its kind is the one way up. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/^(?:import|export)\b[^"';]*?from "(\.[^"]+)"/gms)].map(([, path]) =>
    relative(root, join(root, file, "..", path as string)),
  );
}

describe("the house", () => {
  test("imports go down, never up, never sideways between rooms", () => {
    const wrong: string[] = [];
    for (const file of sources.filter((name) => !name.endsWith(".test.ts"))) {
      for (const target of importsOf(file)) {
        const sameRoom = roomOf(file) === roomOf(target) || layerOf(file) === 2 || layerOf(file) === 9;
        const down = layerOf(target) < layerOf(file);
        if (!down && !(sameRoom && layerOf(target) <= layerOf(file))) wrong.push(`${file} -> ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("a driver has one importer", () => {
    for (const driver of ["node:sqlite", "chdb"]) {
      const importers = sources.filter((file) => new RegExp(`(from|import\\()\\s*"${driver}"`).test(read(file)));
      expect(importers.filter((file) => !file.endsWith(".test.ts")).length, driver).toBeLessThanOrEqual(1);
    }
  });

  test("connectors open connections by src/outgoing only", () => {
    const direct = /from "node:(?:http2|https|tls)"|\bcreateConnection\b.*from "node:net"|\bfetch\(["`]/;
    const found = sources.filter((file) => /^src\/(sources|pipes)\//.test(file) && direct.test(read(file)));
    // Trust of a certificate, and a request by an agent of src/outgoing.
    const known = ["src/sources/messages/formats/registry.ts", "src/sources/relational-db/server/login.ts"];
    expect(found.filter((file) => !file.endsWith(".test.ts") && !known.includes(file))).toEqual([]);
  });

  test(`files stay under ${maxLines} lines`, () => {
    expect(code.filter((file) => read(file).split("\n").length > maxLines)).toEqual([]);
  });

  test("desired state is written by the edges, state by the room's reconciler", () => {
    const callers = (call: RegExp) =>
      sources.filter((file) => !file.startsWith("src/store/") && !file.endsWith(".test.ts") && call.test(read(file)));
    expect(callers(/services\.setDesired\(/)).toEqual(["src/http/handlers/services.ts"]);
    for (const file of callers(/\.setState\(/)) expect(file).toMatch(/reconciler|supervisor/);
  });

  test("every member that holds a secret lies under a declared secret path", () => {
    const secretNames = /^(password|secretKey|privateKey|connectionString|serviceAccountKey)$/;
    for (const kind of Object.values(sourceKinds)) {
      for (const path of memberPaths(kind.request)) {
        if (!secretNames.test(path.split(".").at(-1) as string)) continue;
        const covered = kind.secrets.some((secret) => path === secret || path.startsWith(`${secret}.`));
        expect(covered, `${kind.key}.${path}`).toBe(true);
      }
    }
  });

  test("generated files are fresh (npm run generate)", () => {
    for (const [file, content] of Object.entries(generatedFiles())) {
      expect(existsSync(join(root, file)) && read(file) === content, file).toBe(true);
    }
  });

  test("every path that the documents name exists", () => {
    const documents = ["AGENTS.md", "README.md", "CONTRIBUTING.md", ...filesBelow("docs", ".md")];
    const missing = documents
      .filter((file) => existsSync(join(root, file)))
      .flatMap((file) =>
        [...read(file).matchAll(/`((?:src|docs|harness|test|bench|soak|demo|scripts)\/[\w./-]+)`/g)]
          .map(([, path]) => path as string)
          .filter((path) => !existsSync(join(root, path)))
          .map((path) => `${file}: ${path}`),
      );
    expect(missing).toEqual([]);
  });

  test("no absolute machine path", () => {
    const found = code.filter((file) => /["'`](\/work|\/root|\/home)\//.test(read(file)));
    expect(found).toEqual([]);
  });
});

type Schema = { shape?: Record<string, Schema>; unwrap?: () => Schema; options?: Schema[]; element?: Schema };

function memberPaths(schema: unknown, prefix = ""): string[] {
  const node = schema as Schema;
  if (node.shape !== undefined) {
    return Object.entries(node.shape).flatMap(([name, member]) => {
      const path = prefix === "" ? name : `${prefix}.${name}`;
      return [path, ...memberPaths(member, path)];
    });
  }
  if (node.options !== undefined) return node.options.flatMap((option) => memberPaths(option, prefix));
  if (node.unwrap !== undefined) return memberPaths(node.unwrap(), prefix);
  return node.element === undefined ? [] : memberPaths(node.element, prefix);
}
