/**
 * Starts a confined engine host and supervises it: it becomes ready or the promise rejects, and no process is left
 * over.
 */

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import { violationOf } from "../confinement/channel.ts";
import type { ToHost } from "../endpoint/handoff/messages.ts";
import { HandoffSender } from "../endpoint/handoff/sender.ts";
import type { ForwardAddress } from "../endpoint/proxy/upstream.ts";
import { relayOutput } from "../lib/relay-output.ts";
import { internalUser } from "./chdb/users.ts";
import { awaitUnlocked } from "./directory-lock.ts";
import { type EngineHostOptions, hostDirOf, startHostProcess } from "./host-process.ts";
import type { StandbyHosts } from "./standby.ts";
import { startProblem } from "./start-problem.ts";

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
const versionLength = 64;
const keyBytes = 32;
/** How long to wait for a predecessor to release the data directory. */
const lockTimeoutMs = 10_000;

/** Starts a host, in the prepared process if `standbys` has one for this start. */
export async function spawnEngineHost(options: EngineHostOptions, standbys?: StandbyHosts): Promise<EngineHostProcess> {
  // A confined host sees no other process, so the launcher's side checks whether the data directory is still open.
  await awaitUnlocked(options.dataDir, lockTimeoutMs);
  const { child, ports } = (await standbys?.take(options)) ?? (await startHostProcess(options));
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const handoff = new HandoffSender(child, hostDirOf(options));
  let reason: string | undefined;
  child.on("message", (message: { type?: string; reason?: string; usedBytes?: number }) => {
    if (message.type === "broken") reason = String(message.reason).slice(0, stderrTailBytes);
    if (message.type === "disk") options.onDiskUsed?.(bytesOf(message.usedBytes));
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) =>
      resolve({ code, signal, reason: violationOf(child) ?? reason, statements: handoff.statementsInHand() }),
    );
    child.once("error", () => resolve({ code: -1, signal: null, reason, statements: [] }));
  });
  const tail = stderrTail(child);
  if (options.logger === undefined) child.stderr?.on("data", (chunk: Buffer) => void process.stderr.write(chunk));
  else relayOutput(child.stderr, options.logger, options.logFields ?? {});
  const key = randomBytes(keyBytes).toString("hex");
  // Not in the arguments, which every process of the machine can read. A failed send ends the host.
  const users = options.users ?? [{ name: "default", readonly: false }];
  child.send(
    { type: "start", key, host: ports.host, users, roles: options.roles ?? [], disk: options.disk ?? {} },
    () => {},
  );
  const problem = () => startProblem(tail(), reason, options.dataDir);
  const version = await ready(child, exited, problem, options.readyTimeoutMs ?? 60_000);
  return {
    pid: child.pid as number,
    forwardAddress: { port: ports.forward, key },
    address: { host: ports.host, port: ports.engine, user: internalUser, password: key },
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

/** Throws when a host reports anything but a number of bytes, which kills it: see `guardChannel`. */
function bytesOf(reported: unknown): number {
  if (typeof reported !== "number" || !(reported >= 0)) throw new Error("the use of the disk is not a number");
  return reported;
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
      resolve(String(message.version ?? "").slice(0, versionLength));
    });
    void exited.then(() => fail("ended before it was ready"));
  });
}
