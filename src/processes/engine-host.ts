/**
 * The engine host: one process per running service. The genuine ClickHouse server runs in a thread of it and listens on
 * a loopback port, where the control plane and pipe workers ask it directly. Clients' requests come through this front,
 * which judges their statements: on connections that the gateway hands over, behind the service's door, and from the
 * gateway itself, on another loopback port. The process ends with its parent, even when the engine hangs.
 */
import { mkdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { hostname } from "node:os";
import { setDefaultHighWaterMark } from "node:stream";
import { parseArgs } from "node:util";
import { listenForGateway } from "../endpoint/handoff/carried.ts";
import type { FromHost, ToHost } from "../endpoint/handoff/messages.ts";
import { Front } from "../endpoint/handoff/receiver.ts";
import { upstreamTo } from "../endpoint/proxy/upstream.ts";
import { watchDisk } from "../engine/chdb/disk-used.ts";
import { killQuery } from "../engine/chdb/kill.ts";
import { startServer } from "../engine/chdb/server.ts";
import type { EngineUser } from "../engine/chdb/users.ts";
import { untilBroken } from "../engine/chdb/watch.ts";
import { lockDirectory } from "../engine/directory-lock.ts";
import { DiskQuota, type DiskUse } from "../engine/disk-quota.ts";
import { Queries } from "../engine/http/queries.ts";
import { Guard } from "../engine/sql/guard.ts";
import { askOf, statementJudge } from "../engine/sql/judge.ts";
import { judgeStored } from "../engine/sql/stored.ts";
import { describeError } from "../lib/errors.ts";
import { createLogger } from "../lib/logger.ts";

/** How long answers under way and the flush may take once the host was asked to stop. */
const stopGraceMs = 2_000;
const lockTimeoutMs = 10_000;

const { values } = parseArgs({
  options: {
    "data-dir": { type: "string" },
    "run-dir": { type: "string" },
    "front-port": { type: "string" },
    port: { type: "string" },
    "max-memory-bytes": { type: "string" },
    "max-queries": { type: "string" },
    "min-free-disk-bytes": { type: "string", default: "0" },
    "proxy-url": { type: "string" },
    "backups-allowed-path": { type: "string" },
    "display-name": { type: "string", default: hostname() },
    "log-level": { type: "string", default: "warn" },
  },
});

// A larger mark than the default 64 KiB: else every chunk waits for the one before to leave. Set for all streams, because
// a connection that another process hands over cannot be given a mark of its own.
setDefaultHighWaterMark(false, 1_048_576);

const logger = createLogger(values["log-level"]).child({ process: "engine" });

function required(name: "data-dir" | "run-dir" | "front-port" | "port" | "max-memory-bytes" | "max-queries"): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

/** What must not stand in the arguments, which every process of the machine can read, and what changes. */
type Start = {
  readonly type: "start";
  readonly key: string;
  readonly users: readonly EngineUser[];
  /** The last known use of the disk, so that the quota holds from the first statement. */
  readonly disk: DiskUse;
};

/** Known once the engine answers. */
let flush: (() => Promise<unknown>) | undefined;

async function main({ key, users, disk }: Start): Promise<void> {
  const dataDir = required("data-dir");
  const runDir = required("run-dir");
  const port = Number(required("port"));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await lockDirectory(dataDir, lockTimeoutMs);
  // While the engine starts in its thread, this one loads the client.
  const loading = upstreamTo(port);
  const server = await startServer({
    dataDir,
    configDir: runDir,
    port,
    key,
    users,
    maxMemoryBytes: Number(required("max-memory-bytes")),
    maxQueries: Number(required("max-queries")),
    minFreeDiskBytes: Number(values["min-free-disk-bytes"]),
    displayName: values["display-name"],
    proxyUrl: values["proxy-url"],
    backupsAllowedPath: values["backups-allowed-path"],
  });
  server.ended.catch(fail);
  flush = () => server.client.command("SYSTEM FLUSH ASYNC INSERT QUEUE");
  const guard = new Guard({ ask: askOf(server.client) });
  for (const forbidden of await judgeStored(server.client, guard)) {
    logger.warn(forbidden, "a stored definition holds what is not available, and was taken out of use");
  }
  const quota = new DiskQuota(disk);
  const queries = new Queries({
    upstream: await loading,
    key,
    users,
    judge: statementJudge(guard),
    disk: quota,
    kill: (user, queryId) => killQuery(server.client, user, queryId),
  });
  await listenForGateway({ port: Number(required("front-port")), key }, queries, logger);
  const front = new Front({ queries, logger, runDir });
  process.on("message", (message: ToHost, socket: Socket | undefined) => {
    if (message.type === "disk") quota.limitBytes = message.limitBytes ?? undefined;
    else front.hear(message, socket);
  });
  process.send?.({ type: "ready", version: server.version });
  void watchDisk(server.client, dataDir, (usedBytes) => {
    quota.usedBytes = usedBytes;
    process.send?.({ type: "disk", usedBytes } satisfies FromHost, undefined, {}, () => {});
  });
  fail(new Error(await untilBroken(server.client)));
}

/**
 * The engine can hang when it is shut down, and nothing may outlive the parent: so the end is always SIGKILL, which
 * the data directory survives. Before that, asynchronous inserts that were acknowledged are written out.
 */
async function stop(): Promise<void> {
  setTimeout(end, stopGraceMs);
  await Promise.allSettled([flush?.()]);
  end();
}

function end(): void {
  process.kill(process.pid, "SIGKILL");
}

function fail(error: unknown): void {
  logger.fatal({ err: error }, "the engine host cannot go on");
  process.send?.({ type: "broken", reason: describeError(error) }, end);
}

process.on("disconnect", end);
process.on("SIGTERM", () => void stop());
process.on("SIGINT", () => {});
process.on("unhandledRejection", (error) => {
  logger.fatal({ err: error }, "unhandled rejection");
  end();
});
process.once("message", (start: Start) => {
  const runDir = required("run-dir");
  rmSync(runDir, { recursive: true, force: true });
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  main(start).catch(fail);
});
