/**
 * Starts an engine host behind its wall and keeps hold of it: it becomes ready or the promise rejects, and it never stays
 * behind.
 */
import type { ChildProcess } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { ReadyLauncher } from "../confinement/ready-launcher.ts";
import { engineRules } from "../confinement/room-rules.ts";
import { spawnConfined } from "../confinement/spawn.ts";
import type { ToHost } from "../endpoint/handoff/messages.ts";
import { HandOver } from "../endpoint/handoff/sender.ts";
import type { FrontAddress } from "../endpoint/proxy/upstream.ts";
import { childEnvironment } from "../lib/child-environment.ts";
import { emptyFolder } from "../lib/files.ts";
import { type EngineUser, internalUser } from "./chdb/users.ts";
import { awaitUnlocked } from "./directory-lock.ts";
import type { DiskUse } from "./disk-quota.ts";

export type EngineHostOptions = {
  readonly dataDir: string;
  /** Configuration of the engine; emptied at start. */
  readonly runDir: string;
  readonly maxMemoryBytes: number;
  /** Queries that may run at the same time (default 1000). */
  readonly maxQueries?: number;
  /** Free bytes of the disk below which inserts are refused (default 0). */
  readonly minFreeDiskBytes?: number;
  /** Use of the disk as last known, and its limit (default: none). */
  readonly disk?: DiskUse;
  /** Told the bytes that the service's tables take on disk, every few seconds. */
  readonly onDiskUsed?: (usedBytes: number) => void;
  /** Users that the engine knows by name (default: `default` alone). Others have the same rights under a general name. */
  readonly users?: readonly EngineUser[];
  readonly displayName?: string;
  /** The proxy that leads to the network; without one the engine reaches nothing. */
  readonly proxy?: { readonly port: number; readonly url: string };
  readonly backupsAllowedPath?: string;
  readonly logLevel?: string;
  /** How long the engine may take to open the data directory (default 60 s). */
  readonly readyTimeoutMs?: number;
  /** Where Node keeps compiled code, so that the next start is faster. The host's own: what it writes there is run. */
  readonly compileCacheDir?: string;
  /** The same for what starts the host; no engine may reach it. */
  readonly launcherCacheDir?: string;
  /** Where a launcher may wait already, for a faster start. */
  readonly readyLauncher?: ReadyLauncher;
  /** Told the pid as soon as there is a process, before the engine answers: for a pid file. */
  readonly onSpawn?: (pid: number) => void;
};

/** How a host ended; `reason` is what it has said itself. */
export type Exit = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly reason: string | undefined;
  /** Beginnings of the statements that were under way. */
  readonly statements: readonly string[];
};

export type EngineHostProcess = {
  readonly pid: number;
  /** For requests that the gateway carries. */
  readonly front: FrontAddress;
  /** The engine's own HTTP interface, for the control plane and its workers. */
  readonly address: ClickHouseAddress;
  readonly version: string;
  /** For connections of clients. */
  readonly handOver: HandOver;
  /** Sets what the service may use of the disk, in bytes; holds from the next statement on. Undefined: no limit. */
  limitDisk(limitBytes: number | undefined): void;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** SIGTERM, and SIGKILL after `graceMs`. Resolves when the process is gone. */
  stop(graceMs: number): Promise<void>;
};

const hostFile = fileURLToPath(new URL("../processes/engine-host.ts", import.meta.url));
const stderrTailBytes = 8_000;
const keyBytes = 32;
/** More than the engine's pools of threads hold at most, and less than a machine has for all. */
const maxTasks = 12_000;
/** How long a predecessor may take to be gone from the data directory. */
const lockTimeoutMs = 10_000;

export async function spawnEngineHost(options: EngineHostOptions): Promise<EngineHostProcess> {
  // The host cannot see other processes, so whether one still has the directory open is found out here.
  await awaitUnlocked(options.dataDir, lockTimeoutMs);
  const ports = await freePorts();
  const child = startProcess(options, ports);
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const handOver = new HandOver(child, hostDirOf(options));
  let reason: string | undefined;
  child.on("message", (message: { type?: string; reason?: string; usedBytes?: number }) => {
    if (message.type === "broken") reason = message.reason;
    if (message.type === "disk") options.onDiskUsed?.(message.usedBytes as number);
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, reason, statements: handOver.statementsInHand() }));
    child.once("error", () => resolve({ code: -1, signal: null, reason, statements: [] }));
  });
  const tail = stderrTail(child);
  const key = randomBytes(keyBytes).toString("hex");
  // Not in the arguments, which every process of the machine can read. A failure is the end of the host.
  const users = options.users ?? [{ name: "default", readonly: false }];
  child.send({ type: "start", key, users, disk: options.disk ?? {} }, () => {});
  const version = await ready(child, exited, tail, options.readyTimeoutMs ?? 60_000);
  return {
    pid: child.pid as number,
    front: { port: ports.front, key },
    address: { host: "127.0.0.1", port: ports.engine, user: internalUser, password: key },
    version,
    handOver,
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

/** Tells the host of a limit that is not the last one. A failure is the end of the host. */
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
    // The front asks the engine beside it.
    connectPorts: proxy === undefined ? [ports.engine] : [ports.engine, proxy.port],
    bindPorts: [ports.engine, ports.front],
  });
  return spawnConfined(
    process.execPath,
    [hostFile, ...argumentsOf(options, ports)],
    { ...rules, read: [...rules.read, ...reads] },
    {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // The engine's clients of lakes know a proxy by the environment only.
      environment:
        proxy === undefined ? environment : { ...environment, http_proxy: proxy.url, https_proxy: proxy.url },
      launcherCacheDir,
      readyLauncher,
      group: groupOf(options),
    },
  );
}

/** The engine keeps its own limit by refusing queries; above this one, with room for what it does not count, it is killed. */
function groupOf({ dataDir, maxMemoryBytes }: EngineHostOptions) {
  const name = `engine-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  return { name, memoryBytes: Math.floor(maxMemoryBytes * 1.25) + 2 ** 29, tasks: maxTasks };
}

/**
 * The host removes and makes its run directory, which therefore lies in a folder that it may write; the folder itself it
 * cannot exchange for something else.
 */
function hostDirOf({ runDir }: EngineHostOptions): string {
  return join(runDir, "host", "files");
}

/** Makes the folders that the host may write in, and empties its run directory. Those beside the data. */
function ownFolders(options: EngineHostOptions): string[] {
  const { dataDir, compileCacheDir, backupsAllowedPath } = options;
  const runDir = dirname(hostDirOf(options));
  const own = [runDir, compileCacheDir, backupsAllowedPath].filter((path) => path !== undefined);
  for (const path of [dataDir, ...own]) mkdirSync(path, { recursive: true, mode: 0o700 });
  emptyFolder(runDir);
  return own;
}

type Ports = { readonly engine: number; readonly front: number };

/** Ports of the loopback address that nobody listens on now. When one is taken before the host has it, the start fails. */
async function freePorts(): Promise<Ports> {
  const probes = await Promise.all([listenAnywhere(), listenAnywhere()]);
  const [engine, front] = probes.map((probe) => (probe.address() as { port: number }).port) as [number, number];
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return { engine, front };
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
    "front-port": String(ports.front),
    "run-dir": hostDirOf(options),
    port: String(ports.engine),
    "max-memory-bytes": String(options.maxMemoryBytes),
    "max-queries": String(options.maxQueries ?? 1_000),
    "min-free-disk-bytes": options.minFreeDiskBytes === undefined ? undefined : String(options.minFreeDiskBytes),
    "display-name": options.displayName,
    "proxy-url": options.proxy?.url,
    "backups-allowed-path": options.backupsAllowedPath,
    "log-level": options.logLevel,
  };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
}

/** The last bytes of stderr, which also go to our own. */
function stderrTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-stderrTailBytes);
    process.stderr.write(chunk);
  });
  return () => text;
}

async function ready(
  child: ChildProcess,
  exited: Promise<unknown>,
  tail: () => string,
  timeoutMs: number,
): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`the engine host ${reason}: ${tail().trim()}`));
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
