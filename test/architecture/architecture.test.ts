/** The house rules that Biome cannot hold. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generatedFiles } from "../../scripts/generated-files.ts";
import { filesBelow, read, root } from "../../scripts/house.ts";
import { sourceKinds } from "../../src/sources/contract/registry.ts";

const maxLines = 400;

const sources = filesBelow("src", ".ts");
const code = [
  ...sources,
  ...["harness", "test", "bench", "soak", "scripts", "console"].flatMap((folder) => filesBelow(folder, ".ts")),
  ...[".tsx", ".css"].flatMap((ending) => filesBelow("console", ending)),
];

describe("the house", () => {
  test(`files stay under ${maxLines} lines`, () => {
    expect(code.filter((file) => read(file).split("\n").length > maxLines)).toEqual([]);
  });

  test("desired state is written by the edges, state by the room's reconciler", () => {
    const callers = (call: RegExp) =>
      sources.filter((file) => !file.startsWith("src/store/") && !file.endsWith(".test.ts") && call.test(read(file)));
    expect(callers(/services\.setDesired\(/)).toEqual(["src/http/handlers/services/services.ts"]);
    expect(callers(/\.setState\(/).toSorted()).toEqual([
      "src/pipes/control/supervisor/supervisor.ts",
      "src/services/reconciler.ts",
    ]);
  });

  test("pipes measure how long something takes by a clock that does not step", () => {
    const inPipes = ["src/sources/", "src/pipes/worker/", "src/pipes/control/workers/", "src/lib/"];
    const readers = sources.filter(
      (file) =>
        inPipes.some((room) => file.startsWith(room)) && !file.endsWith(".test.ts") && /\bDate\.now\b/.test(read(file)),
    );
    // What these compare or record is a time of day: of a source, of credentials, or one that people see.
    expect(readers.toSorted()).toEqual([
      "src/lib/event-counter.ts",
      "src/pipes/worker/error-requests-job.ts",
      "src/sources/aws/credentials.ts",
      "src/sources/managed-stream/client/client.ts",
      "src/sources/message-broker/lag.ts",
      "src/sources/relational-db/stream/change-reader.ts",
      "src/sources/relational-db/stream/replication-stream.ts",
    ]);
  });

  test("rows of the store stay inside it: no row type is exported, and no column is read or written elsewhere", () => {
    const inStore = sources.filter((file) => file.startsWith("src/store/"));
    const exported = inStore.filter((file) => /^export (type|interface|class) \w*Row\b/m.test(read(file)));
    expect(exported).toEqual([]);
    // Columns of an engine or a source may have the same names: `row.created_at` of a ClickHouse table is not our
    // column.
    const importers = sources.filter((file) => !inStore.includes(file) && /from "[./]+\/store\//.test(read(file)));
    expect(importers.length).toBeGreaterThan(30);
    const member = new RegExp(`\\.(${columns().join("|")})\\b`);
    expect(importers.filter((file) => member.test(withoutTexts(read(file))))).toEqual([]);
    const parsed = /JSON\.parse\((row|service|pipe|backup|restore|user|source)\.\w+\)/;
    expect(importers.filter((file) => parsed.test(read(file)))).toEqual([]);
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

  test("no absolute machine path", () => {
    const found = code.filter((file) => /["'`](\/work|\/root|\/home)\//.test(read(file)));
    expect(found).toEqual([]);
  });
});

/** Columns of the metadata database whose names differ from those of members. */
function columns(): string[] {
  const sql = filesBelow("src/store/database/migrations", ".sql").map(read).join("\n");
  const names = [...sql.matchAll(/(?:^\s+|ADD COLUMN )([a-z0-9]+(?:_[a-z0-9]+)+) (?:TEXT|INTEGER|REAL)/gm)];
  return [...new Set(names.map(([, name]) => name as string))];
}

/** The code without string literals, which may be SQL; expressions in templates stay. */
function withoutTexts(code: string): string {
  return code.replaceAll(/"[^"\n]*"|'[^'\n]*'/g, '""');
}

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
