/**
 * Starts a confined engine host and supervises it: it becomes ready or the promise rejects, and no process is left
 * over.
 */

import type { ChildProcess } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import { engineRules } from "../confinement/process-rules.ts";
import type { ReadyLauncher } from "../confinement/ready-launcher.ts";
import { spawnConfined } from "../confinement/spawn.ts";
import type { ToHost } from "../endpoint/handoff/messages.ts";
import { HandoffSender } from "../endpoint/handoff/sender.ts";
import type { ForwardAddress } from "../endpoint/proxy/upstream.ts";
import { childEnvironment } from "../lib/child-environment.ts";
import { emptyFolder } from "../lib/files.ts";
import type { Logger } from "../lib/logger.ts";
import { processFile } from "../lib/program.ts";
import { relayOutput } from "../lib/relay-output.ts";
import { type EngineUser, internalUser } from "./chdb/users.ts";
import { awaitUnlocked } from "./directory-lock.ts";
import type { DiskUse } from "./disk-quota.ts";
import { startProblem } from "./start-problem.ts";

export type EngineHostOptions = {
  readonly dataDir: string;
  /** Configuration of the engine; emptied at start. */
  readonly runDir: string;
  readonly maxMemoryBytes: number;
  /** Maximum number of concurrent queries (default 1000). */
  readonly maxQueries?: number;
  /** Free bytes of the disk below which inserts are refused (default 0). */
  readonly minFreeDiskBytes?: number;
  /** Last known disk use, and its limit (default: none). */
  readonly disk?: DiskUse;
  /** Receives the bytes that the service's tables use on disk, every few seconds. */
  readonly onDiskUsed?: (usedBytes: number) => void;
  /**
   * Users that the engine knows by name (default: `default` alone). Others get the same rights under a stand-in's name.
   */
  readonly users?: readonly EngineUser[];
  readonly displayName?: string;
  /** The proxy for outgoing connections; without it the engine reaches no network. */
  readonly proxy?: { readonly port: number; readonly url: string };
  readonly backupsAllowedPath?: string;
  /** False: the engine merges no parts. */
  readonly merges?: boolean;
  readonly logLevel?: string;
  /** Receives the host's log (default: our standard error). */
  readonly logger?: Logger;
  /** Added to every line of the host's log, for example its service. */
  readonly logFields?: Readonly<Record<string, string>>;
  /** How long the engine may take to open the data directory (default 60 s). */
  readonly readyTimeoutMs?: number;
  /**
   * Node's compile cache, so that the next start is faster. It belongs to this host alone, because its content is
   * executed.
   */
  readonly compileCacheDir?: string;
  /** The compile cache of the launcher; no engine can write to it. */
  readonly launcherCacheDir?: string;
  /** A launcher that may be waiting already, for a faster start. */
  readonly readyLauncher?: ReadyLauncher;
  /** Receives the pid as soon as the process exists, before the engine answers: for a pid file. */
  readonly onSpawn?: (pid: number) => void;
};

/** How a host ended; `reason` is what the host reported itself. */
export type Exit = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly reason: string | undefined;
  /** Beginnings of the statements that were running. */
  readonly statements: readonly string[];
};

export type EngineHostProcess = {
  readonly pid: number;
  /** For requests that the gateway forwards. */
  readonly forwardAddress: ForwardAddress;
  /** The engine's own HTTP interface, for the control plane and its workers. */
  readonly address: ClickHouseAddress;
  readonly version: string;
  /** For client connections. */
  readonly handoff: HandoffSender;
  /** Sets the disk limit of the service in bytes, from the next statement on; undefined removes it. */
  limitDisk(limitBytes: number | undefined): void;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** SIGTERM, and SIGKILL after `graceMs`. Resolves when the process is gone. */
  stop(graceMs: number): Promise<void>;
};

const stderrTailBytes = 8_000;
const keyBytes = 32;
/** Above the maximum of the engine's thread pools, and below the limit of the whole machine. */
const maxTasks = 12_000;
/** How long to wait for a predecessor to release the data directory. */
const lockTimeoutMs = 10_000;

export async function spawnEngineHost(options: EngineHostOptions): Promise<EngineHostProcess> {
  // A confined host sees no other process, so the launcher's side checks whether the data directory is still open.
  await awaitUnlocked(options.dataDir, lockTimeoutMs);
  const ports = await freePorts();
  const child = startProcess(options, ports);
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const handoff = new HandoffSender(child, hostDirOf(options));
  let reason: string | undefined;
  child.on("message", (message: { type?: string; reason?: string; usedBytes?: number }) => {
    if (message.type === "broken") reason = message.reason;
    if (message.type === "disk") options.onDiskUsed?.(message.usedBytes as number);
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, reason, statements: handoff.statementsInHand() }));
    child.once("error", () => resolve({ code: -1, signal: null, reason, statements: [] }));
  });
  const tail = stderrTail(child);
  if (options.logger === undefined) child.stderr?.on("data", (chunk: Buffer) => void process.stderr.write(chunk));
  else relayOutput(child.stderr, options.logger, options.logFields ?? {});
  const key = randomBytes(keyBytes).toString("hex");
  // Not in the arguments, which every process of the machine can read. A failed send ends the host.
  const users = options.users ?? [{ name: "default", readonly: false }];
  child.send({ type: "start", key, users, disk: options.disk ?? {} }, () => {});
  const problem = () => startProblem(tail(), reason, options.dataDir);
  const version = await ready(child, exited, problem, options.readyTimeoutMs ?? 60_000);
  return {
    pid: child.pid as number,
    forwardAddress: { port: ports.forward, key },
    address: { host: "127.0.0.1", port: ports.engine, user: internalUser, password: key },
    version,
    handoff,
    limitDisk: limitTeller(child, options.disk?.limitBytes),
    exited,
    stop: async (graceMs) => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Sends the host a limit that differs from the last one. A failed send ends the host. */
function limitTeller(child: ChildProcess, first: number | undefined): EngineHostProcess["limitDisk"] {
  let told = first;
  return (limitBytes) => {
    if (limitBytes === told || !child.connected) return;
    told = limitBytes;
    child.send({ type: "disk", limitBytes: limitBytes ?? null } satisfies ToHost, () => {});
  };
}

function startProcess(options: EngineHostOptions, ports: Ports): ChildProcess {
  const { dataDir, compileCacheDir, launcherCacheDir, readyLauncher, proxy } = options;
  const { environment, reads } = childEnvironment({ home: hostDirOf(options), compileCacheDir });
  const rules = engineRules({
    dataDir,
    folders: ownFolders(options),
    // The query service connects to the engine in the same process.
    connectPorts: proxy === undefined ? [ports.engine] : [ports.engine, proxy.port],
    bindPorts: [ports.engine, ports.forward],
  });
  return spawnConfined(
    process.execPath,
    [processFile("engine-host"), ...argumentsOf(options, ports)],
    { ...rules, read: [...rules.read, ...reads] },
    {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // The engine's data lake clients read their proxy only from the environment.
      environment:
        proxy === undefined ? environment : { ...environment, http_proxy: proxy.url, https_proxy: proxy.url },
      launcherCacheDir,
      readyLauncher,
      group: groupOf(options),
    },
  );
}

/**
 * The engine enforces its own limit by refusing queries; above this limit, with room for what it does not count, it is
 * killed.
 */
function groupOf({ dataDir, maxMemoryBytes }: EngineHostOptions) {
  const name = `engine-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  return { name, memoryBytes: Math.floor(maxMemoryBytes * 1.25) + 2 ** 29, tasks: maxTasks };
}

/**
 * The host deletes and recreates its run directory, so the parent folder must be writable for it; it cannot replace the
 * parent itself.
 */
function hostDirOf({ runDir }: EngineHostOptions): string {
  return join(runDir, "host", "files");
}

/**
 * Creates the folders that the host may write to, and empties its run directory. Returns those outside the data
 * directory.
 */
function ownFolders(options: EngineHostOptions): string[] {
  const { dataDir, compileCacheDir, backupsAllowedPath } = options;
  const runDir = dirname(hostDirOf(options));
  const own = [runDir, compileCacheDir, backupsAllowedPath].filter((path) => path !== undefined);
  for (const path of [dataDir, ...own]) mkdirSync(path, { recursive: true, mode: 0o700 });
  emptyFolder(runDir);
  return own;
}

type Ports = { readonly engine: number; readonly forward: number };

/** Loopback ports that are free now. If one is taken before the host binds it, the start fails. */
async function freePorts(): Promise<Ports> {
  const probes = await Promise.all([listenAnywhere(), listenAnywhere()]);
  const [engine, forward] = probes.map((probe) => (probe.address() as { port: number }).port) as [number, number];
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return { engine, forward };
}

async function listenAnywhere(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port: 0 }, resolve);
  });
  return server;
}

function argumentsOf(options: EngineHostOptions, ports: Ports): string[] {
  const given: Record<string, string | undefined> = {
    "data-dir": options.dataDir,
    "forward-port": String(ports.forward),
    "run-dir": hostDirOf(options),
    port: String(ports.engine),
    "max-memory-bytes": String(options.maxMemoryBytes),
    "max-queries": String(options.maxQueries ?? 1_000),
    "min-free-disk-bytes": options.minFreeDiskBytes === undefined ? undefined : String(options.minFreeDiskBytes),
    "display-name": options.displayName,
    "proxy-url": options.proxy?.url,
    "backups-allowed-path": options.backupsAllowedPath,
    merges: options.merges === false ? "off" : undefined,
    "log-level": options.logLevel,
  };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
}

/** The end of stderr. */
function stderrTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-stderrTailBytes);
  });
  return () => text;
}

async function ready(
  child: ChildProcess,
  exited: Promise<unknown>,
  problem: () => string,
  timeoutMs: number,
): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`the engine host ${reason}: ${problem()}`));
    };
    const timer = setTimeout(() => fail(`was not ready after ${timeoutMs} ms`), timeoutMs);
    child.on("message", (message: { type?: string; version?: string }) => {
      if (message.type !== "ready") return;
      clearTimeout(timer);
      resolve(message.version ?? "");
    });
    void exited.then(() => fail("ended before it was ready"));
  });
}
