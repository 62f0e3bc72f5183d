/** clickhouse-go: its module holds its integration tests. Tests of the native protocol count as skipped. */
import { cpSync, existsSync } from "node:fs";
import { MissingTool } from "../../harness/missing.ts";
import { refusal, startNativeHandshake } from "./native-handshake.ts";
import { cacheFolder, type Outcome, prepareWith, runTool, type Suite, type Target } from "./suite.ts";
import { versions } from "./versions.ts";

const module = "github.com/ClickHouse/clickhouse-go/v2";
const install = "install Go (https://go.dev/dl or `apt install golang`)";

/** Tests that start containers of their own, or measure for minutes. */
const skipped = "/Native$|Docker|Container|Stress|TinyProxy|Proxy";

export const go: Suite = {
  client: "clickhouse-go",
  version: versions.go,
  kind: "official",
  run: async (target) => {
    const folder = await fetchModule();
    using native = await startNativeHandshake(target.version, (sql) => runOverHttp(target, sql));
    const env = {
      CLICKHOUSE_USE_DOCKER: "false",
      CLICKHOUSE_HOST: target.host,
      CLICKHOUSE_PORT: String(native.port),
      CLICKHOUSE_HTTP_PORT: String(target.port),
      CLICKHOUSE_USERNAME: "default",
      CLICKHOUSE_PASSWORD: target.password,
    };
    const args = ["test", "-json", "-p", "1", "-timeout", "15m", "-skip", skipped];
    const ran = await runTool("go", [...args, "./tests", "./tests/std", "./tests/issues"], {
      install,
      cwd: folder,
      env,
    });
    return outcomeOf(ran.output);
  },
};

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

async function runOverHttp({ host, port, password }: Target, sql: string): Promise<string | undefined> {
  const headers = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": password };
  const response = await fetch(`http://${host}:${port}/`, { method: "POST", body: sql, headers });
  const text = await response.text();
  return response.ok ? undefined : text;
}

type Event = { Action: string; Package?: string; Test?: string; Output?: string };

/** Counts tests without subtests. A test that failed for the native protocol counts as skipped. */
function outcomeOf(output: string): Outcome {
  const results = new Map<string, string>();
  const texts = new Map<string, string>();
  for (const line of output.split("\n")) {
    if (!line.startsWith("{")) continue;
    const event = JSON.parse(line) as Event;
    if (event.Test === undefined) continue;
    const name = `${event.Package?.split("/v2/")[1]}: ${event.Test}`;
    if (event.Action === "output") texts.set(name, (texts.get(name) ?? "") + (event.Output ?? ""));
    else if (/^(?:pass|fail|skip)$/.test(event.Action)) results.set(name, event.Action);
  }
  if (results.size === 0) throw new MissingTool(`clickhouse-go did not build: ${output.trim().split("\n").at(-1)}`);
  const leaves = [...results].filter(([name]) => ![...results.keys()].some((other) => other.startsWith(`${name}/`)));
  const native = (name: string) => (texts.get(name) ?? "").includes(refusal);
  return {
    passed: leaves.filter(([, result]) => result === "pass").length,
    failed: leaves.filter(([name, result]) => result === "fail" && !native(name)).map(([name]) => name),
    skipped: leaves.filter(([name, result]) => result === "skip" || (result === "fail" && native(name))).length,
  };
}
