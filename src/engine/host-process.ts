/** The process of an engine host: its arguments, folders, ports and rules. */

import type { ChildProcess } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { engineRules } from "../confinement/process-rules.ts";
import type { ReadyLauncher } from "../confinement/ready-launcher.ts";
import { spawnConfined } from "../confinement/spawn.ts";
import { childEnvironment } from "../lib/child-environment.ts";
import { emptyFolder } from "../lib/files.ts";
import type { Logger } from "../lib/logger.ts";
import { addOwnPort } from "../lib/own-ports.ts";
import { processFile } from "../lib/program.ts";
import type { EngineRole, EngineUser } from "./chdb/users.ts";
import type { DiskUse } from "./disk-quota.ts";

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
  readonly roles?: readonly EngineRole[];
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
  /** A launcher that may be waiting already, for a faster start. */
  readonly readyLauncher?: ReadyLauncher;
  /** Receives the pid as soon as the process exists, before the engine answers: for a pid file. */
  readonly onSpawn?: (pid: number) => void;
};

/** Above the maximum of the engine's thread pools, and below the limit of the whole machine. */
const maxTasks = 12_000;
export type HostProcess = {
  readonly child: ChildProcess;
  readonly ports: Ports;
};

/**
 * Starts the process of a host, which waits for its start message. With `standby`, it loads the engine and its own code
 * meanwhile: about 60 ms that the start then does not take.
 */
export async function startHostProcess(
  options: EngineHostOptions,
  { standby = false }: { readonly standby?: boolean } = {},
): Promise<HostProcess> {
  const ports = await freePorts();
  const { readyLauncher, proxy } = options;
  const { environment, reads } = childEnvironment({ home: hostDirOf(options) });
  const rules = engineRules({
    dataDir: options.dataDir,
    folders: await ownFolders(options),
    // The query service connects to the engine in the same process.
    connectPorts: [ports.engine, ports.native, ...(proxy === undefined ? [] : [proxy.port])],
    bindPorts: [ports.engine, ports.native, ports.forward],
  });
  const child = spawnConfined(
    process.execPath,
    [processFile("engine-host"), ...argumentsOf(options, ports), ...(standby ? ["--standby"] : [])],
    { ...rules, read: [...rules.read, ...reads] },
    {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // The engine's data lake clients read their proxy only from the environment.
      environment:
        proxy === undefined ? environment : { ...environment, http_proxy: proxy.url, https_proxy: proxy.url },
      readyLauncher,
      group: groupOf(options),
    },
  );
  const isOpen = () => child.exitCode === null && child.signalCode === null;
  const secretHost = ports.host === loopback ? undefined : ports.host;
  for (const port of [ports.engine, ports.native]) addOwnPort({ port, isOpen, secretHost });
  addOwnPort({ port: ports.forward, isOpen });
  return { child, ports };
}

/** What a host process is bound to when it starts: another start needs another process. */
export function boundTo(options: EngineHostOptions): string {
  const folders = [options.dataDir, ...foldersOf(options)];
  // The kernel's rules name folders by their inode, so that a folder which was replaced is out of reach.
  const inodes = folders.map((path) => statSync(path, { throwIfNoEntry: false })?.ino);
  const none = { host: "", engine: 0, native: 0, forward: 0 };
  return JSON.stringify([argumentsOf(options, none), options.proxy, folders, inodes]);
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
export function hostDirOf({ runDir }: EngineHostOptions): string {
  return join(runDir, "host", "files");
}

/**
 * Creates the folders that the host may write to, and empties its run directory. Returns those outside the data
 * directory.
 */
async function ownFolders(options: EngineHostOptions): Promise<string[]> {
  const own = foldersOf(options);
  for (const path of [options.dataDir, ...own]) mkdirSync(path, { recursive: true, mode: 0o700 });
  await emptyFolder(parentOfRunDir(options));
  return own;
}

function foldersOf(options: EngineHostOptions): string[] {
  return [parentOfRunDir(options), options.backupsAllowedPath].filter((path) => path !== undefined);
}

function parentOfRunDir(options: EngineHostOptions): string {
  return dirname(hostDirOf(options));
}

export type Ports = {
  /** The loopback address at which the engine listens. */
  readonly host: string;
  /** The ports of the engine's HTTP interface and of its native protocol. */
  readonly engine: number;
  readonly native: number;
  /** The port of the host's own listener for the gateway. */
  readonly forward: number;
};

/** True when a host can bind all ports now. */
export async function areFree({ host, engine, native, forward }: Ports): Promise<boolean> {
  try {
    await closeAll(await Promise.all([listen(host, engine), listen(host, native), listen(loopback, forward)]));
    return true;
  } catch {
    return false;
  }
}

const loopback = "127.0.0.1";

/** Loopback ports that are free now. If one is taken before the host binds it, the start fails. */
async function freePorts(): Promise<Ports> {
  const engine = await listen(secretLoopback(), 0).catch(() => listen(loopback, 0));
  const at = engine.address() as AddressInfo;
  // Others use 127.0.0.1, too. Linux gives no port above 61,000 to a connection or a listener that names none.
  const above = () => listen(loopback, randomInt(61_000, 65_536));
  const [native, forward] = await Promise.all([
    listen(at.address, 0),
    above()
      .catch(above)
      .catch(above)
      .catch(() => listen(loopback, 0)),
  ]);
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  const ports = { host: at.address, engine: at.port, native: portOf(native), forward: portOf(forward) };
  await closeAll([engine, native, forward]);
  return ports;
}

/**
 * The engine library ends when a connection breaks off in the middle of a request's head, with or without the key. So
 * it listens where nobody finds it: at one of 16 million addresses, which confined processes cannot list, and at a port
 * of 28,000. Linux accepts all of them, other systems 127.0.0.1 alone.
 */
function secretLoopback(): string {
  return `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

async function closeAll(probes: readonly Server[]): Promise<void> {
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  return server;
}

function argumentsOf(options: EngineHostOptions, ports: Ports): string[] {
  const given: Record<string, string | undefined> = {
    "data-dir": options.dataDir,
    "forward-port": String(ports.forward),
    "run-dir": hostDirOf(options),
    port: String(ports.engine),
    "native-port": String(ports.native),
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
