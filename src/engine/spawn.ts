/**
 * Starts a confined engine host and supervises it: it becomes ready or the promise rejects, and no process is left
 * over.
 */

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import { wasOutOfMemory } from "../confinement/cgroups.ts";
import { violationOf } from "../confinement/channel.ts";
import type { ForwardAddress } from "../endpoint/forward/upstream.ts";
import type { ToHost } from "../endpoint/handoff/messages.ts";
import { HandoffSender } from "../endpoint/handoff/sender.ts";
import { logOutput } from "../lib/log-output.ts";
import { loadFailureIn, type Unloaded } from "./chdb/unloadable.ts";
import { internalUser } from "./chdb/users.ts";
import { awaitUnlocked } from "./directory-lock.ts";
import { type EngineHostOptions, hostDirOf, startHostProcess } from "./host-process.ts";
import type { StandbyHosts } from "./standby.ts";
import { startProblem, withoutPaths } from "./start-problem.ts";

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
  /** Where the gateway forwards requests to. */
  readonly forwardAddress: ForwardAddress;
  /** The engine's own HTTP interface, for the control plane and its workers. */
  readonly address: ClickHouseAddress;
  readonly version: string;
  /** Stored definitions that the engine cannot load, or that are forbidden, in one sentence; undefined: none. */
  readonly outOfUse: string | undefined;
  /** Takes client connections. */
  readonly handoff: HandoffSender;
  /** Sets the disk limit of the service in bytes, from the next statement on; undefined removes it. */
  limitDisk(limitBytes: number | undefined): void;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** SIGTERM, and SIGKILL after `graceMs`. Resolves when the process is gone. */
  stop(graceMs: number): Promise<void>;
};

const stderrTailBytes = 8_000;
/** A definition that cannot be loaded is in the output whole, and a statement has at most a mebibyte. */
const startOutputBytes = 3 * 2 ** 20;
/** Definitions that one start takes out of use at most: each costs a start of the engine. */
const mostUnloaded = 50;
const versionLength = 64;
const keyBytes = 32;
/** How long to wait for a predecessor to release the data directory. */
const lockTimeoutMs = 10_000;

/** A start that failed; `loadFailure` names the table that could not be loaded, if that is the reason. */
class StartError extends Error {
  readonly loadFailure: string | undefined;

  constructor(message: string, loadFailure: string | undefined) {
    super(message);
    this.loadFailure = loadFailure;
  }
}

/**
 * Starts a host, in the prepared process if `standbys` has one for this start. A table that the engine cannot load is
 * taken out of use, and the start repeated.
 */
export async function spawnEngineHost(options: EngineHostOptions, standbys?: StandbyHosts): Promise<EngineHostProcess> {
  const failures: string[] = [];
  for (;;) {
    try {
      return await startOnce(options, standbys, failures.at(-1));
    } catch (error) {
      const failure = error instanceof StartError ? error.loadFailure : undefined;
      if (failure === undefined || failures.includes(failure) || failures.length === mostUnloaded)
        throw inWords(error, options.dataDir);
      failures.push(failure);
    }
  }
}

/** Users of the service read why its files cannot be used, and learn no path of this machine. */
function inWords(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error && "path" in error)) return error;
  return new Error(`the files of the service cannot be used: ${withoutPaths(error.message, dataDir)}`);
}

/** `loadFailure` is that of the start before. */
async function startOnce(
  options: EngineHostOptions,
  standbys: StandbyHosts | undefined,
  loadFailure: string | undefined,
): Promise<EngineHostProcess> {
  // A confined host sees no other process, so the launcher's side checks whether the data directory is still open.
  await awaitUnlocked(options.dataDir, lockTimeoutMs);
  const { child, ports } = (await standbys?.take(options)) ?? (await startHostProcess(options));
  try {
    if (child.pid !== undefined) options.onSpawn?.(child.pid);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  const handoff = new HandoffSender(child, hostDirOf(options));
  let reason: string | undefined;
  child.on("message", (message: { type?: string; reason?: string; usedBytes?: number }) => {
    if (message.type === "broken") reason = String(message.reason).slice(0, stderrTailBytes);
    if (message.type === "disk") options.onDiskUsed?.(bytesOf(message.usedBytes));
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) =>
      resolve({ code, signal, reason: reasonOf(child) ?? reason, statements: handoff.statementsInHand() }),
    );
    child.once("error", () => resolve({ code: -1, signal: null, reason, statements: [] }));
  });
  const tail = stderrTail(child);
  if (options.logger === undefined) child.stderr?.on("data", (chunk: Buffer) => void process.stderr.write(chunk));
  else logOutput(child.stderr, options.logger, options.logFields ?? {});
  const key = randomBytes(keyBytes).toString("hex");
  // Not in the arguments, which every process of the machine can read. A failed send ends the host.
  const users = options.users ?? [{ name: "default", readonly: false }];
  const { roles = [], disk = {} } = options;
  child.send({ type: "start", key, host: ports.host, users, roles, disk, loadFailure }, () => {});
  const failed = (what: string, how?: string) => {
    const told = reasonOf(child) ?? reason ?? (how && `${how}; the server's log has the details`);
    const problem = startProblem(tail(), told, options.dataDir);
    return new StartError(`the engine's process ${what}: ${problem}`, loadFailureIn(tail()));
  };
  const { version, outOfUse } = await ready(child, exited, failed, options.readyTimeoutMs ?? 60_000);
  tail.keep(stderrTailBytes);
  return {
    pid: child.pid as number,
    forwardAddress: { port: ports.forward, key },
    address: { host: ports.host, port: ports.engine, user: internalUser, password: key },
    version,
    outOfUse: outOfUseSentence(outOfUse, options.dataDir),
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

/** Why we or the kernel have ended the host. */
function reasonOf(child: ChildProcess): string | undefined {
  return violationOf(child) ?? (wasOutOfMemory(child) ? "it needed more memory than the service may have" : undefined);
}

/** Throws when a host reports anything but a number of bytes, which kills it: see `guardChannel`. */
function bytesOf(reported: unknown): number {
  if (typeof reported !== "number" || !(reported >= 0)) throw new Error("the use of the disk is not a number");
  return reported;
}

/** The end of stderr; `keep` shortens it from then on. */
function stderrTail(child: ChildProcess) {
  let text = "";
  let bytes = startOutputBytes;
  child.stderr?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-bytes);
  });
  const keep = (most: number) => {
    bytes = most;
    text = text.slice(-most);
  };
  return Object.assign(() => text, { keep });
}

const mostNamed = 3;

/** The list is a host's, and so untrusted. */
function outOfUseSentence(told: unknown, dataDir: string): string | undefined {
  const list = Array.isArray(told) ? (told as Unloaded[]) : [];
  if (list.length === 0) return undefined;
  const named = list.slice(0, mostNamed).map(({ database, name, reason }) => {
    return `${`${database}.${name}`.slice(0, 200)} (${withoutPaths(String(reason), dataDir)})`;
  });
  const more = list.length > mostNamed ? ` and ${list.length - mostNamed} more` : "";
  return `Stored definitions are out of use, with their data kept: ${named.join(", ")}${more}.`;
}

async function ready(
  child: ChildProcess,
  exited: Promise<Exit>,
  failed: (what: string, how?: string) => Error,
  timeoutMs: number,
): Promise<{ readonly version: string; readonly outOfUse: unknown }> {
  return await new Promise((resolve, reject) => {
    const fail = (what: string, how?: string) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(failed(what, how));
    };
    const timer = setTimeout(() => fail(`was not ready after ${timeoutMs} ms`), timeoutMs);
    child.on("message", (message: { type?: string; version?: string; outOfUse?: unknown }) => {
      if (message.type !== "ready") return;
      clearTimeout(timer);
      resolve({ version: String(message.version ?? "").slice(0, versionLength), outOfUse: message.outOfUse });
    });
    void exited.then(({ code, signal }) => fail("ended too early", signal ?? `exit code ${code}`));
  });
}
