/**
 * A fifth kind of source is a folder and its lines in the registries: the product with one more folder has its pipes,
 * its flags, its examples and its secrets, and no other file is changed.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Served, serve } from "../../../harness/serve.ts";
import { root } from "../../../scripts/house.ts";

let tree: string;
let served: Served | undefined;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "millrace-fifth-"));
  cpSync(join(root, "src"), join(tree, "src"), { recursive: true, filter: (file) => !/\.test\.ts$/.test(file) });
  cpSync(join(root, "package.json"), join(tree, "package.json"));
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  addFolder();
  addLine(
    "contract/descriptions.ts",
    "as const satisfies Record<",
    "counter: counterDescription",
    "counterDescription",
    "description",
  );
  addLine("contract/registry.ts", "satisfies Record<", "counter", "counter", "kind");
  const load = `counter: async () => (await import("./counter/connector.ts")).counterConnector`;
  addLine("connectors.ts", ";", load);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  rmSync(tree, { recursive: true, force: true, maxRetries: 5 });
});

function addFolder(): void {
  const toy = join(root, "harness/sources/toy");
  const kind = join(tree, "src/sources/counter");
  mkdirSync(join(kind, "declaration"), { recursive: true });
  for (const file of readdirSync(toy, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".txt")) cpSync(join(toy, file), join(kind, file.replace(/\.txt$/, "")));
  }
}

/** One more member before the end of the list, and the import of its value. */
function addLine(file: string, after: string, member: string, name?: string, from?: string): void {
  const path = join(tree, "src/sources", file);
  const text = readFileSync(path, "utf8");
  const end = text.indexOf(`}${after === ";" ? "" : " "}${after}`, text.indexOf("relationalDb"));
  expect(end, file).toBeGreaterThan(0);
  const inserted = `${text.slice(0, end).replace(/,?\s*$/, ",\n")}  ${member},\n${text.slice(end)}`;
  const imported = name === undefined ? "" : `import { ${name} } from "../counter/declaration/${from}.ts";\n`;
  writeFileSync(path, imported + inserted);
}

async function cli(...args: readonly string[]): Promise<string> {
  const { baseUrl = "", keyId = "", keySecret = "" } = served?.credentials ?? {};
  const env = { PATH: process.env.PATH, HOME: tree, MILLRACE_URL: baseUrl, MILLRACE_KEY: `${keyId}:${keySecret}` };
  const command = [join(tree, "src/main.ts"), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: tree, env });
  return stdout;
}

test("the compiler asks for nothing else", async () => {
  const config = {
    extends: join(root, "tsconfig.json"),
    include: ["src"],
    compilerOptions: { tsBuildInfoFile: "tsc" },
  };
  writeFileSync(join(tree, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [compiler, "--noEmit"], { cwd: tree });
  expect(await run.catch(({ stdout }) => stdout)).toMatchObject({ stdout: "" });
});

test("a pipe of it is made by flags, loads every row, keeps its secret, and is exported", async () => {
  served = await serve({ tree });
  writeFileSync(join(tree, "token"), "open sesame");
  expect(await cli("pipe", "create", "counter", "--help")).toMatch(/--count <n> +How many numbers/);
  expect(await cli("pipe", "create", "counter", "--help")).toMatch(/--token-file <file> +File with the token/);
  expect(await cli("complete", "--", "pipe", "list", "--kind", "")).toMatch(/^counter/m);
  await cli("service", "create", "house", "--wait");
  const flags = ["--count", "2500", "--token-file", "token", "--to", "numbers", "--column", "n:UInt64"];
  await cli("pipe", "create", "counter", "Numbers", ...flags, "--order-by", "n", "--wait");
  expect(await cli("pipe", "get", "Numbers")).toContain("counter up to 2500");
  await expect.poll(async () => JSON.parse(await cli("pipe", "get", "Numbers", "-o", "json")).state).toBe("Completed");
  const query = "SELECT count(), uniqExact(n), max(n) FROM numbers";
  const counted = await cli("sql", "house", query, "--format", "TSV");
  expect(counted.trim()).toBe("2500\t2500\t2499");
  const shown = await cli("pipe", "get", "Numbers", "-o", "json");
  expect(shown).toContain('"counter"');
  expect(shown).not.toContain("sesame");
  expect(await cli("export", "pipe")).toContain(`token: \${env:NUMBERS_TOKEN}`);
});
