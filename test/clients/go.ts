/** clickhouse-go: its module holds its integration tests, for both protocols. */
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, type Outcome, prepareWith, runTool, type Suite } from "./suite.ts";
import { versions } from "./versions.ts";

const module = "github.com/ClickHouse/clickhouse-go/v2";
const install = "install Go (https://go.dev/dl or `apt install golang`)";

const packages = ["tests", "tests/std", "tests/issues"];
/** A test that needs longer is cut off and counts as failed. */
const testMs = 60_000;
const workers = 2;

export const go: Suite = {
  client: "clickhouse-go",
  version: versions.go,
  kind: "official",
  run: async (target) => {
    const folder = await fetchModule();
    const env = {
      CLICKHOUSE_USE_DOCKER: "false",
      CLICKHOUSE_HOST: target.host,
      CLICKHOUSE_PORT: String(target.nativePort),
      CLICKHOUSE_HTTP_PORT: String(target.port),
      CLICKHOUSE_USERNAME: "default",
      CLICKHOUSE_PASSWORD: target.password,
    };
    const outcomes: Outcome[] = [];
    for (const name of packages) outcomes.push(await runPackage(join(folder, name), name, env));
    return {
      passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
      failed: outcomes.flatMap(({ failed }) => failed),
      skipped: outcomes.reduce((sum, { skipped }) => sum + skipped, 0),
    };
  },
};

/** Every test runs in a process of its own: several end the process when Docker is missing. */
async function runPackage(cwd: string, name: string, env: Readonly<Record<string, string>>): Promise<Outcome> {
  const program = join(cwd, "package.test");
  if (!existsSync(program)) {
    await prepareWith("the suite of clickhouse-go", "go", ["test", "-c", "-o", program, "."], { install, cwd });
  }
  const listed = await prepareWith("the suite of clickhouse-go", program, ["-test.list", "."], { install, cwd, env });
  const waiting = listed.split("\n").filter((line) => line.startsWith("Test"));
  const total = { passed: 0, failed: [] as string[], skipped: 0 };
  const work = async () => {
    for (let test = waiting.shift(); test !== undefined; test = waiting.shift()) {
      const args = ["-test.v", "-test.run", `^${test}$`];
      const { output } = await runTool(program, args, { install, cwd, env, timeoutMs: testMs });
      const { passed, failed, skipped } = outcomeOf(test, output);
      total.passed += passed;
      total.failed.push(...failed.map((one) => `${name}: ${one}`));
      total.skipped += skipped;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return total;
}

async function fetchModule(): Promise<string> {
  const folder = cacheFolder(`clickhouse-go-${versions.go}`);
  if (existsSync(folder)) return folder;
  const given = { install, env: { GOFLAGS: "-mod=mod" }, cwd: "/" };
  const output = await prepareWith(
    "clickhouse-go",
    "go",
    ["mod", "download", "-json", `${module}@${versions.go}`],
    given,
  );
  const { Dir } = JSON.parse(output) as { Dir: string };
  // The module cache cannot be written to, and tests write beside themselves.
  cpSync(Dir, folder, { recursive: true });
  await prepareWith("clickhouse-go", "chmod", ["-R", "u+w", folder], { install });
  return folder;
}

/** Counts tests without subtests. One that failed for want of Docker counts as skipped. */
function outcomeOf(test: string, output: string): Outcome {
  const texts = new Map([[test, ""]]);
  const results = new Map<string, string>();
  let current = test;
  for (const line of output.split("\n")) {
    current = /^=== (?:RUN|CONT|NAME) +(\S+)/.exec(line)?.[1] ?? current;
    texts.set(current, `${texts.get(current) ?? ""}${line}\n`);
    const [, result, name] = /^\s*--- (PASS|FAIL|SKIP): (\S+)/.exec(line) ?? [];
    if (result !== undefined && name !== undefined) results.set(name, result);
  }
  // The process ended before the test did.
  if (results.size === 0) results.set(current, "FAIL");
  const leaves = [...results].filter(([name]) => ![...results.keys()].some((other) => other.startsWith(`${name}/`)));
  const isForeign = (name: string) =>
    ["Docker is not running", "Docker not found"].some((text) => texts.get(name)?.includes(text));
  const failed = leaves.filter(([, result]) => result === "FAIL").map(([name]) => name);
  return {
    passed: leaves.filter(([, result]) => result === "PASS").length,
    failed: failed.filter((name) => !isForeign(name)),
    skipped: leaves.filter(([, result]) => result === "SKIP").length + failed.filter(isForeign).length,
  };
}
