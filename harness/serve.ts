/** The product as a child process for benchmarks and tests: started, ready, and stopped by pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type ApiClient, createApiClient } from "../src/api/client.ts";
import type { FirstCredentials } from "../src/api/first-credentials.ts";
import { destinationBody, endDestinations } from "./external-destination.ts";

export type Served = AsyncDisposable & {
  readonly dataDir: string;
  readonly credentials: FirstCredentials;
  readonly api: ApiClient;
  readonly process: ChildProcess;
  /** Stops the control plane; its data directory stays. */
  stop(): Promise<void>;
  /** Kills the control plane and starts it again on the same data directory. */
  restartAfterKill(): Promise<Served>;
};

export async function serve(
  options: {
    dataDir?: string;
    env?: Record<string, string>;
    keepData?: boolean;
    tree?: string;
    /** The program of an installed package, in place of our sources. */
    program?: string;
    port?: number;
    /** Everything that the process says is appended to it. */
    logFile?: string;
  } = {},
): Promise<Served> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "millrace-serve-"));
  // `tree`: the sources of another version.
  const main = options.program ?? join(options.tree ?? fileURLToPath(new URL("../", import.meta.url)), "src/main.ts");
  const port = String(options.port ?? 0);
  const child = await untilReady([main, "serve", "--data-dir", dataDir, "--port", port], options);
  const credentials = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as FirstCredentials;
  return {
    dataDir,
    credentials,
    api: createApiClient(credentials),
    process: child,
    stop: () => end(child, "SIGTERM"),
    restartAfterKill: async () => {
      await end(child, "SIGKILL");
      return await serve({ ...options, dataDir });
    },
    [Symbol.asyncDispose]: async () => {
      await end(child, "SIGTERM");
      await endDestinations(dataDir);
      if (options.keepData !== true) rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A process of `millrace worker`. */
export type WorkerServed = AsyncDisposable & {
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** Kills the process and starts it again on the same data directory. */
  restartAfterKill(): Promise<WorkerServed>;
};

export async function serveWorker(options: {
  env: Record<string, string>;
  dataDir?: string;
  slots?: number;
  logFile?: string;
}): Promise<WorkerServed> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "millrace-worker-"));
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const slots = options.slots === undefined ? [] : ["--slots", String(options.slots)];
  const child = await untilReady([main, "worker", "--data-dir", dataDir, ...slots], options);
  return {
    dataDir,
    process: child,
    restartAfterKill: async () => {
      await end(child, "SIGKILL");
      return await serveWorker({ ...options, dataDir });
    },
    [Symbol.asyncDispose]: async () => {
      await end(child, "SIGTERM");
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Starts the program; resolves when it says that it is ready. */
async function untilReady(
  args: readonly string[],
  { env = {}, logFile }: { readonly env?: Record<string, string>; readonly logFile?: string },
): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, MILLRACE_LOG_LEVEL: "warn", ...env },
  });
  if (logFile !== undefined) {
    for (const output of [child.stdout, child.stderr]) output.on("data", (chunk) => appendFileSync(logFile, chunk));
  }
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk) => String(chunk).includes("is ready") && resolve());
    child.stderr.on("data", (chunk) => {
      log = (log + String(chunk)).slice(-8192);
    });
    child.once("exit", (code, signal) => reject(new Error(`the server ended (${code ?? signal}):\n${log}`)));
  });
  return child;
}

async function end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  const killer = setTimeout(() => child.kill("SIGKILL"), 120_000);
  await exited;
  clearTimeout(killer);
}

/** Enough for what is expected within seconds, on a machine that is many times slower. */
const untilMs = 120_000;

/** Polls until the condition holds; throws with its description after the limit. */
export async function until<T>(what: string, condition: () => Promise<T>, limitMs = untilMs): Promise<NonNullable<T>> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const met = await condition();
    if (met) return met;
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await delay(25);
  }
}

/** Polls until `read` returns this text; throws after the limit, with what was read last. */
export async function untilText(what: string, wanted: string, read: () => Promise<string>): Promise<void> {
  let seen = "";
  await until(what, async () => {
    seen = await read();
    return seen === wanted;
  }).catch((error: Error) => {
    throw new Error(`${error.message}; last seen: ${seen}, expected ${wanted}`);
  });
}

export type BenchService = {
  readonly id: string;
  readonly params: { organizationId: string; serviceId: string };
  readonly host: string;
  readonly port: number;
  readonly password: string;
};

/** A new service that is running: an external one with `TEST_DESTINATION=external`. */
export async function runningService(served: Served, body: object = {}): Promise<BenchService> {
  const { organizationId } = served.credentials;
  const request = await destinationBody(served.dataDir, { name: "test", ...body });
  const created = await served.api.createService({ params: { organizationId }, body: request as never });
  const params = { organizationId, serviceId: created.service.id };
  await until("the service runs", async () => (await served.api.getService({ params })).state === "running");
  const endpoint = created.service.endpoints[0] as { host: string; port: number };
  return { id: created.service.id, params, host: endpoint.host, port: endpoint.port, password: created.password };
}

/**
 * Lets a service that was made without `idleScaling` fall asleep. One that may from the beginning does so between two
 * steps of a test that needs it awake, where the machine is slow.
 */
export async function letSleep(served: Served, { params }: BenchService): Promise<void> {
  await served.api.updateServiceScaling({ params, body: { idleScaling: true, idleTimeoutMinutes: 5 } });
}

/** Runs a statement as the service's `default` user through its endpoint; throws the engine's error text. */
export async function query(service: BenchService, sql: string): Promise<string> {
  const response = await fetch(`http://${service.host}:${service.port}/`, {
    method: "POST",
    body: sql,
    headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": service.password },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return text.trimEnd();
}
