/**
 * The engine host: one process per running service. The genuine ClickHouse server runs in a thread of it and listens on
 * a loopback port, which the control plane and pipe workers query directly. Clients' requests arrive at the query
 * service, which judges their statements: on connections that the gateway hands over, after authentication, and from
 * the gateway itself, on another loopback port. The process ends with its parent, even when the engine hangs.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { loadEngine } from "../engine/chdb/library.ts";
import { startServer } from "../engine/chdb/server.ts";
import { takeOutOfUse } from "../engine/chdb/unloadable.ts";
import type { EngineRole, EngineUser } from "../engine/chdb/users.ts";
import { lockDirectory } from "../engine/directory-lock.ts";
import type { DiskUse } from "../engine/disk-quota.ts";
import { deferredLogger } from "../lib/deferred-logger.ts";

/** Time for responses in progress and the flush once the host was asked to stop. */
const stopGraceMs = 2_000;
const lockTimeoutMs = 10_000;

const { values } = parseArgs({
  options: {
    "data-dir": { type: "string" },
    "run-dir": { type: "string" },
    "forward-port": { type: "string" },
    port: { type: "string" },
    "native-port": { type: "string" },
    "max-memory-bytes": { type: "string" },
    "max-queries": { type: "string" },
    "min-free-disk-bytes": { type: "string", default: "0" },
    "proxy-url": { type: "string" },
    "backups-allowed-path": { type: "string" },
    merges: { type: "string" },
    "display-name": { type: "string", default: hostname() },
    "log-level": { type: "string", default: "warn" },
    standby: { type: "boolean", default: false },
  },
});

type Required = "data-dir" | "run-dir" | "forward-port" | "port" | "native-port" | "max-memory-bytes" | "max-queries";

function required(name: Required): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

/** Values that must not be in the arguments, which every process of the machine can read, and values that change. */
type Start = {
  readonly type: "start";
  readonly key: string;
  /** The loopback address at which the engine listens. */
  readonly host: string;
  readonly users: readonly EngineUser[];
  readonly roles: readonly EngineRole[];
  /** The last known disk use, so that the quota holds from the first statement. */
  readonly disk: DiskUse;
  /** What ended the start before: a table. */
  readonly loadFailure?: string;
};

/** Known once the engine answers. */
let flush: (() => Promise<unknown>) | undefined;

async function main({ key, host, users, roles, disk, loadFailure }: Start): Promise<void> {
  const dataDir = required("data-dir");
  const runDir = required("run-dir");
  const port = Number(required("port"));
  // Known to this process alone.
  const native = { port: Number(required("native-port")), secret: randomBytes(32).toString("hex") };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await lockDirectory(dataDir, lockTimeoutMs);
  if (loadFailure !== undefined) takeOutOfUse(dataDir, loadFailure);
  const thread = startServer({
    dataDir,
    configDir: runDir,
    host,
    port,
    key,
    native,
    users,
    roles,
    maxMemoryBytes: Number(required("max-memory-bytes")),
    maxQueries: Number(required("max-queries")),
    minFreeDiskBytes: Number(values["min-free-disk-bytes"]),
    displayName: values["display-name"],
    proxyUrl: values["proxy-url"],
    backupsAllowedPath: values["backups-allowed-path"],
    merges: values.merges !== "off",
  });
  thread.ended.catch(fail);
  // Everything else is loaded while the engine starts in its thread.
  const { serveClients } = await import("./engine-serving.ts");
  const forwardPort = Number(required("forward-port"));
  const logger = deferredLogger(hostLogger);
  const at = { host, port, native, forwardPort };
  const displayName = values["display-name"];
  const serving = await serveClients(thread, { dataDir, runDir, ...at, key, users, disk, displayName, logger });
  flush = serving.flush;
  await fail(new Error(await serving.broken));
}

async function hostLogger() {
  const { createLogger } = await import("../lib/logger.ts");
  return createLogger(values["log-level"]).child({ process: "engine" });
}

/**
 * The engine can hang during shutdown, and nothing may outlive the parent: so the process always ends by SIGKILL, which
 * the data directory survives. Before that, acknowledged asynchronous inserts are flushed.
 */
async function stop(): Promise<void> {
  setTimeout(end, stopGraceMs);
  await Promise.allSettled([flush?.()]);
  end();
}

function end(): void {
  process.kill(process.pid, "SIGKILL");
}

async function fail(error: unknown): Promise<void> {
  const { describeError } = await import("../lib/errors.ts");
  (await hostLogger()).fatal({ err: error }, "the engine host cannot go on");
  process.send?.({ type: "broken", reason: describeError(error) }, end);
}

process.on("disconnect", end);
process.on("SIGTERM", () => void stop());
process.on("SIGINT", () => {});
process.on("unhandledRejection", (error) => {
  console.error("unhandled rejection in the engine host", error);
  end();
});
process.once("message", (start: Start) => {
  const runDir = required("run-dir");
  rmSync(runDir, { recursive: true, force: true });
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  main(start).catch(fail);
});
// A standby waits long for its start message. What the start needs is loaded until then.
if (values.standby) {
  loadEngine();
  import("./engine-serving.ts").catch(fail);
}
