/** Applications with the OpenTelemetry SDKs, installed once into the cache (`$MILLRACE_CACHE/clients`). */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cache = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "clients");
const senders = fileURLToPath(new URL("senders/", import.meta.url));

/** The registries have these. */
const versions = { node: "0.223.0", python: "1.45.2", pythonContrib: "0.66b2", java: "1.68.0" };

export type Sender = {
  readonly name: string;
  /** Sends so many spans, a log record and a metric, as the environment says. */
  send(spans: number, env: Readonly<Record<string, string>>): Promise<void>;
};

/** Throws when the packages cannot be had. */
export async function nodeSender(): Promise<Sender> {
  const folder = join(cache, `otel-node-${versions.node}`);
  if (!existsSync(join(folder, "done"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    const packages = ["@opentelemetry/api@1.9.1", `@opentelemetry/sdk-node@${versions.node}`];
    packages.push(`@opentelemetry/api-logs@${versions.node}`);
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages], { cwd: folder });
    mkdirSync(join(folder, "done"));
  }
  return {
    name: "Node",
    send: async (spans, env) => {
      const all = {
        ...process.env,
        SDK_FOLDER: folder,
        OTEL_LOGS_EXPORTER: "otlp",
        OTEL_METRICS_EXPORTER: "otlp",
        ...env,
      };
      await run(process.execPath, [join(senders, "sdk.cjs"), String(spans)], { env: all });
    },
  };
}

/** Throws when the packages cannot be had. */
export async function pythonSender(): Promise<Sender> {
  const folder = join(cache, `otel-python-${versions.python}`);
  const bin = (name: string) => join(folder, "bin", name);
  if (!existsSync(join(folder, "done"))) {
    await run("python3", ["-m", "venv", folder]);
    const packages = [
      `opentelemetry-distro==${versions.pythonContrib}`,
      `opentelemetry-exporter-otlp==${versions.python}`,
    ];
    packages.push(`opentelemetry-instrumentation-logging==${versions.pythonContrib}`);
    await run(bin("python"), ["-m", "pip", "install", "-q", ...packages]);
    mkdirSync(join(folder, "done"));
  }
  return {
    name: "Python",
    send: async (spans, env) => {
      const logs = { OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true" };
      const args = [bin("python"), join(senders, "sdk.py"), String(spans)];
      await run(bin("opentelemetry-instrument"), args, { env: { ...process.env, ...logs, ...env } });
    },
  };
}

/** Throws when the packages cannot be had, and without a JDK. */
export async function javaSender(): Promise<Sender> {
  const folder = join(cache, `otel-java-${versions.java}`);
  if (!existsSync(join(folder, "done"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "pom.xml"), pom(["sdk-extension-autoconfigure", "exporter-otlp"]));
    await run("mvn", ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libraries"], { cwd: folder });
    const compiled = ["-cp", join(folder, "libraries", "*"), "-d", folder, join(senders, "Sdk.java")];
    await run("javac", compiled);
    mkdirSync(join(folder, "done"));
  }
  return {
    name: "Java",
    send: async (spans, env) => {
      const classPath = `${folder}:${join(folder, "libraries", "*")}`;
      await run("java", ["-cp", classPath, "Sdk", String(spans)], { env: { ...process.env, ...env } });
    },
  };
}

function pom(modules: readonly string[]): string {
  const dependencies = modules.map(
    (module) =>
      `<dependency><groupId>io.opentelemetry</groupId><artifactId>opentelemetry-${module}</artifactId><version>${versions.java}</version></dependency>`,
  );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>own</groupId><artifactId>sender</artifactId><version>1</version>
<dependencies>${dependencies.join("")}</dependencies></project>`;
}
