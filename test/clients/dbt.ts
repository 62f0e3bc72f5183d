/** dbt-clickhouse, with dbt's own tests of an adapter: the sdist of dbt-clickhouse holds no tests. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MissingTool } from "../../harness/missing.ts";
import { addressOf, venv } from "./smoke.ts";
import { cacheFolder, type Outcome, runTool, type Suite } from "./suite.ts";
import { versions } from "./versions.ts";

const tests = fileURLToPath(new URL("dbt/", import.meta.url));

export const dbt: Suite = {
  client: "dbt-clickhouse",
  version: versions.dbt,
  kind: "official",
  note: "the sdist on PyPI holds no tests, and the tests are those of dbt-tests-adapter",
  run: async (target) => {
    const own = [`dbt-core==${versions.dbtCore}`, `dbt-tests-adapter==${versions.dbtTests}`, "pytest"];
    const binary = await venv("dbt-clickhouse", [`dbt-clickhouse==${versions.dbt}`, ...own]);
    const cwd = cacheFolder("dbt-run");
    mkdirSync(cwd, { recursive: true });
    const env = { ...addressOf(target), PYTHONDONTWRITEBYTECODE: "1", DBT_SEND_ANONYMOUS_USAGE_STATS: "false" };
    const args = ["-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", "--tb=line", tests];
    return outcomeOf((await runTool(binary, args, { install: "install Python 3", cwd, env })).output);
  },
};

function outcomeOf(output: string): Outcome {
  const named = (word: string) =>
    [...output.matchAll(new RegExp(`^${word} \\S*::(\\w+::\\S+)`, "gm"))].map(([, name]) => name as string);
  const passed = named("PASSED");
  const failed = [...named("FAILED"), ...named("ERROR")];
  if (passed.length + failed.length === 0)
    throw new MissingTool(`dbt's tests did not start: ${output.trim().slice(-300)}`);
  return { passed: passed.length, failed, skipped: 0 };
}
