/** Scripts of `smoke/`, for clients whose registry holds no tests. Each prints `ok NAME` or `not ok NAME: reason`. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MissingTool } from "../../harness/missing.ts";
import { cacheFolder, type Outcome, prepareWith, runTool, type Suite, type Target } from "./suite.ts";
import { versions } from "./versions.ts";

export const scripts = fileURLToPath(new URL("smoke/", import.meta.url));
const python = "install Python 3 with venv (https://python.org or `apt install python3-venv`)";
const maven = "install a JDK of 17 or newer and Maven (`apt install openjdk-17-jdk maven`)";
const timeoutMs = 3 * 60_000;

export const node: Suite = {
  client: "@clickhouse/client (Node)",
  version: versions.node,
  kind: "smoke",
  note: "the package on npm holds no tests",
  run: async (target) => {
    const given = { install: "install Node.js", env: addressOf(target), timeoutMs };
    return scriptOutcome((await runTool(process.execPath, [join(scripts, "node-client.ts")], given)).output);
  },
};

export const connect: Suite = {
  client: "clickhouse-connect (Python)",
  version: versions.python,
  kind: "smoke",
  note: "the sdist on PyPI holds no integration tests",
  run: async (target) => {
    const binary = await venv("clickhouse-connect", [`clickhouse-connect==${versions.python}`]);
    const given = { install: python, env: addressOf(target), timeoutMs };
    return scriptOutcome((await runTool(binary, [join(scripts, "connect.py")], given)).output);
  },
};

export const driver: Suite = {
  client: "clickhouse-driver (Python, native)",
  version: versions.driver,
  kind: "smoke",
  note: "the sdist on PyPI holds no integration tests",
  run: (target) => nativeScript(target, "driver.py", [`clickhouse-driver[lz4,zstd]==${versions.driver}`]),
};

export const asynch: Suite = {
  client: "asynch (Python, native)",
  version: versions.asynch,
  kind: "smoke",
  note: "the sdist on PyPI holds no integration tests",
  run: (target) => nativeScript(target, "asynch_client.py", [`asynch[compression]==${versions.asynch}`]),
};

async function nativeScript(target: Target, script: string, packages: readonly string[]): Promise<Outcome> {
  const binary = await venv(script.replace(/\..*/, ""), packages);
  const given = { install: python, env: addressOf(target), timeoutMs };
  return scriptOutcome((await runTool(binary, [join(scripts, script)], given)).output);
}

export const java: Suite = {
  client: "client-v2 and clickhouse-jdbc (Java)",
  version: versions.java,
  kind: "smoke",
  note: "Maven Central has no jars of their tests",
  run: async (target) => {
    const folder = cacheFolder(`java-${versions.java}`);
    mkdirSync(folder, { recursive: true });
    const file = join(scripts, "pom.xml");
    const goal = ["-B", "-q", "-f", file, `-Dclickhouse.version=${versions.java}`, "dependency:copy-dependencies"];
    const copy = [...goal, `-DoutputDirectory=${folder}`];
    if (!existsSync(join(folder, "done"))) {
      await prepareWith("the Java client", "mvn", copy, { install: maven });
      mkdirSync(join(folder, "done"));
    }
    const given = { install: maven, env: addressOf(target), timeoutMs };
    return scriptOutcome(
      (await runTool("java", ["-cp", join(folder, "*"), join(scripts, "Smoke.java")], given)).output,
    );
  },
};

/** A Python of its own with these packages. Returns its program. */
export async function venv(name: string, packages: readonly string[]): Promise<string> {
  const folder = cacheFolder(`${name}-${packages[0]?.split("==")[1]}`);
  const binary = join(folder, "bin", "python");
  if (existsSync(join(folder, "done"))) return binary;
  await prepareWith(name, "python3", ["-m", "venv", folder], { install: python });
  await prepareWith(name, binary, ["-m", "pip", "install", "-q", ...packages], { install: python });
  mkdirSync(join(folder, "done"));
  return binary;
}

export function addressOf({ host, port, nativePort, password }: Target): Record<string, string> {
  return {
    CLICKHOUSE_HOST: host,
    CLICKHOUSE_PORT: String(port),
    CLICKHOUSE_NATIVE_PORT: String(nativePort),
    CLICKHOUSE_PASSWORD: password,
  };
}

/** What the lines of a script say. */
export function scriptOutcome(output: string): Outcome {
  const lines = output.split("\n");
  const passed = lines.filter((line) => line.startsWith("ok ")).length;
  const failed = lines.filter((line) => line.startsWith("not ok ")).map((line) => line.slice("not ok ".length));
  if (passed + failed.length === 0) throw new MissingTool(`the script did not start: ${output.trim().slice(-300)}`);
  // A script that ends early has checks that did not run.
  if (!lines.includes("done")) failed.push(`the script ended early: ${output.trim().slice(-200)}`);
  return { passed, failed, skipped: 0 };
}
