/** Starts an engine host and keeps hold of it: it becomes ready or the promise rejects, and it never stays behind. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../lib/child-environment.ts";
import { writerThreads } from "./fifo.ts";
import { HandOver } from "./hand-over.ts";

export type EngineHostOptions = {
  readonly dataDir: string;
  /** Unix socket to listen on; its folder is created private. */
  readonly socketPath: string;
  /** Pipes, spool files and configuration; emptied at start. Best on a memory file system. */
  readonly runDir: string;
  readonly maxMemoryBytes: number;
  /** Queries that may run at the same time (default 32). */
  readonly sessions?: number;
  readonly displayName?: string;
  readonly backupsAllowedPath?: string;
  readonly logLevel?: string;
  /** How long the engine may take to open the data directory (default 60 s). */
  readonly readyTimeoutMs?: number;
  /** Where Node keeps compiled code, so that the next start is faster. */
  readonly compileCacheDir?: string;
  /** Told the pid as soon as there is a process, before the engine answers: for a pid file. */
  readonly onSpawn?: (pid: number) => void;
};

export type EngineHostProcess = {
  readonly pid: number;
  readonly socketPath: string;
  /** Where processes of this machine may put insert data as files: see `body-files.ts`. */
  readonly bodyDir: string;
  readonly version: string;
  /** For connections of clients. */
  readonly handOver: HandOver;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** SIGTERM, and SIGKILL after `graceMs`. Resolves when the process is gone. */
  stop(graceMs: number): Promise<void>;
};

const hostFile = fileURLToPath(new URL("./host.ts", import.meta.url));
/** For KILL QUERY, files and compression. */
const spareThreads = 4;
const stderrTailBytes = 8_000;

export async function spawnEngineHost(options: EngineHostOptions): Promise<EngineHostProcess> {
  const sessions = options.sessions ?? 32;
  const child = spawn(process.execPath, [hostFile, ...argumentsOf(options, sessions)], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // Every running query holds a thread of libuv's pool. Not more threads than needed: they take turns, and every one
    // more makes them colder (80 instead of 44 cost a small query a third of its time).
    env: {
      ...childEnvironment(options.compileCacheDir),
      UV_THREADPOOL_SIZE: String(sessions + writerThreads + spareThreads),
    },
  });
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const handOver = new HandOver(child, options.runDir);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: -1, signal: null }));
  });
  const tail = stderrTail(child);
  const version = await ready(child, exited, tail, options.readyTimeoutMs ?? 60_000);
  return {
    pid: child.pid as number,
    socketPath: options.socketPath,
    bodyDir: bodyDirOf(options),
    version,
    handOver,
    exited,
    stop: async (graceMs) => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

function bodyDirOf({ runDir }: EngineHostOptions): string {
  return join(runDir, "bodies");
}

function argumentsOf(options: EngineHostOptions, sessions: number): string[] {
  const given: Record<string, string | undefined> = {
    "data-dir": options.dataDir,
    socket: options.socketPath,
    "run-dir": options.runDir,
    "body-dir": bodyDirOf(options),
    "max-memory-bytes": String(options.maxMemoryBytes),
    sessions: String(sessions),
    "display-name": options.displayName,
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
