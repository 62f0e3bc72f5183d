/**
 * Official clients of other languages, unchanged. They are installed into a cache folder outside the repository
 * (`MILLRACE_CACHE`, else `~/.cache/millrace`); without python3 or java and mvn a suite says so and is skipped.
 */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "../../../harness/engine/stage.ts";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const cache = process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace");
const installMs = 240_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => await stage.close());

const python = await prepare("clickhouse-connect", async () => {
  const folder = join(cache, "python");
  const binary = join(folder, "bin", "python");
  if (!existsSync(binary)) await run("python3", ["-m", "venv", folder], { timeout: installMs });
  const missing = await run(binary, ["-c", "import clickhouse_connect"]).then(
    () => false,
    () => true,
  );
  if (missing) await run(binary, ["-m", "pip", "install", "-q", "clickhouse-connect"], { timeout: installMs });
  return binary;
});

const classpath = await prepare("clickhouse-jdbc", async () => {
  const folder = join(cache, "jdbc");
  const file = join(folder, "classpath.txt");
  mkdirSync(folder, { recursive: true });
  await run("java", ["-version"]);
  if (!existsSync(file)) {
    copyFileSync(join(here, "jdbc", "pom.xml"), join(folder, "pom.xml"));
    const goal = ["-B", "-q", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"];
    await run("mvn", goal, { cwd: folder, timeout: installMs });
  }
  return readFileSync(file, "utf8").trim();
});

test.skipIf(python === undefined)("clickhouse-connect (Python)", async () => {
  const { hostname, port } = new URL(stage.url);
  const { stdout } = await run(python as string, [join(here, "connect.py"), hostname, port, "secret"], {
    timeout: 100_000,
  });
  expect(stdout).toMatch(/clickhouse-connect .* ok/);
});

test.skipIf(classpath === undefined)("clickhouse-jdbc (Java)", async () => {
  const url = `jdbc:clickhouse://${new URL(stage.url).host}/default`;
  const check = join(here, "jdbc", "Check.java");
  const { stdout } = await run("java", ["-cp", classpath as string, check, url, "secret"], { timeout: 100_000 });
  expect(stdout).toContain("clickhouse-jdbc ok");
});

async function prepare(name: string, install: () => Promise<string>): Promise<string | undefined> {
  try {
    return await install();
  } catch (error) {
    console.warn(`${name} is skipped: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
    return undefined;
  }
}
