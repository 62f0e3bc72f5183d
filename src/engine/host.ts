/**
 * The engine host: one process per running service. It owns the data directory and answers the ClickHouse HTTP
 * interface in two places: on a private unix socket, where there is no authentication and whoever may open it is
 * trusted; and on clients' connections that the gateway hands over (`front.ts`), behind the service's door. It ends with
 * its parent, even when the engine hangs.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setDefaultHighWaterMark } from "node:stream";
import { parseArgs } from "node:util";
import { createLogger } from "../lib/logger.ts";
import { createServer } from "../lib/node-http.ts";
import { BodyFiles } from "./body-files.ts";
import { lockDirectory } from "./directory-lock.ts";
import { Engine } from "./engine.ts";
import { writeEngineConfig } from "./engine-config.ts";
import { Executor } from "./executor.ts";
import { Front } from "./front.ts";
import type { ToHost } from "./hand-over-messages.ts";
import { callerOf } from "./request.ts";
import { Slots } from "./slots.ts";

/** How long answers under way and the flush may take once the host was asked to stop. */
const stopGraceMs = 2_000;
const lockTimeoutMs = 10_000;
const sweepMs = 60_000;
const maxHeaderBytes = 4 * 1_048_576;

const { values } = parseArgs({
  options: {
    "data-dir": { type: "string" },
    socket: { type: "string" },
    "run-dir": { type: "string" },
    "body-dir": { type: "string" },
    "max-memory-bytes": { type: "string" },
    sessions: { type: "string", default: "32" },
    "max-waiting": { type: "string", default: "256" },
    "backups-allowed-path": { type: "string" },
    "display-name": { type: "string", default: hostname() },
    "log-level": { type: "string", default: "warn" },
  },
});

// A larger mark than the default 64 KiB: else every chunk waits for the one before to leave. Set for all streams, because
// a connection that another process hands over cannot be given a mark of its own.
setDefaultHighWaterMark(false, 1_048_576);

const logger = createLogger(values["log-level"]).child({ process: "engine" });

function required(name: "data-dir" | "socket" | "run-dir" | "body-dir" | "max-memory-bytes"): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

/** Known once the engine is open. */
let flush: (() => Promise<unknown>) | undefined;

async function main(): Promise<void> {
  const dataDir = required("data-dir");
  const runDir = required("run-dir");
  const socketPath = required("socket");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  rmSync(runDir, { recursive: true, force: true });
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const backupsAllowedPath = values["backups-allowed-path"];
  const config = writeEngineConfig(runDir, {
    maxMemoryBytes: Number(required("max-memory-bytes")),
    ...(backupsAllowedPath === undefined ? {} : { backupsAllowedPath }),
  });
  await lockDirectory(dataDir, lockTimeoutMs);
  const engine = new Engine(dataDir, config);
  flush = () => engine.control("SYSTEM FLUSH ASYNC INSERT QUEUE");
  const facts = {
    displayName: values["display-name"],
    timezone: await engine.control("SELECT serverTimezone()"),
    version: await engine.control("SELECT version()"),
  };
  const slots = new Slots(runDir, Number(values.sessions), Number(values["max-waiting"]));
  const bodyFiles = new BodyFiles(required("body-dir"));
  setInterval(() => void bodyFiles.sweep(), sweepMs).unref();
  const executor = new Executor({ engine, slots, bodyFiles, facts, logger });
  await listen(socketPath, (message, response) => {
    if (!answerProbe(message, response)) void executor.serve(message, response, callerOf(message.headers));
  });
  const front = new Front({
    serve: async (message, response, visitor, gone) => {
      // A visitor is nothing that its headers say.
      const caller = { ...visitor, trusted: false, bodyFile: undefined };
      if (!answerProbe(message, response)) await executor.serve(message, response, caller, gone);
    },
    logger,
    runDir,
  });
  process.on("message", (message: ToHost, socket: Socket | undefined) => front.hear(message, socket));
  process.send?.({ type: "ready", version: facts.version });
}

/** The paths that never reach the engine. */
function answerProbe(message: IncomingMessage, response: ServerResponse): boolean {
  const path = (message.url ?? "/").split("?", 1)[0];
  const bare = message.url === "/" && (message.method === "GET" || message.method === "HEAD");
  if (path === "/ping" || path === "/replicas_status" || bare) {
    response.writeHead(200, { "Content-Type": "text/html; charset=UTF-8", "Content-Length": "4" }).end("Ok.\n");
    return true;
  }
  if (path === "/") return false;
  message.resume();
  response.writeHead(404, { "Content-Type": "text/plain; charset=UTF-8" }).end(`There is no handle ${path}\n`);
  return true;
}

async function listen(path: string, onRequest: (message: IncomingMessage, response: ServerResponse) => void) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  const options = { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 0, requestTimeout: 0 };
  const server = createServer(options, onRequest);
  server.headersTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
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

process.on("disconnect", end);
process.on("SIGTERM", () => void stop());
process.on("SIGINT", () => {});
process.on("unhandledRejection", (error) => {
  logger.fatal({ err: error }, "unhandled rejection");
  end();
});

try {
  await main();
} catch (error) {
  logger.fatal({ err: error }, "the engine host did not start");
  end();
}
