/**
 * The engine host: one process per running service. It owns the data directory and answers the ClickHouse HTTP
 * interface on a private unix socket. There is no authentication here: whoever may open the socket is trusted, and
 * the gateway stands in front. It ends with its parent, even when the engine hangs.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { createLogger } from "../lib/logger.ts";
import { Engine } from "./engine.ts";
import { writeEngineConfig } from "./engine-config.ts";
import { Executor } from "./executor.ts";
import { Slots } from "./slots.ts";

const exitGraceMs = 3_000;
const maxHeaderBytes = 4 * 1_048_576;

const { values } = parseArgs({
  options: {
    "data-dir": { type: "string" },
    socket: { type: "string" },
    "run-dir": { type: "string" },
    "max-memory-bytes": { type: "string" },
    sessions: { type: "string", default: "32" },
    "max-waiting": { type: "string", default: "256" },
    "backups-allowed-path": { type: "string" },
    "display-name": { type: "string", default: hostname() },
    "log-level": { type: "string", default: "warn" },
  },
});

const logger = createLogger(values["log-level"]).child({ process: "engine" });

function required(name: "data-dir" | "socket" | "run-dir" | "max-memory-bytes"): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

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
  const engine = new Engine(dataDir, config);
  const facts = {
    displayName: values["display-name"],
    timezone: await engine.control("SELECT serverTimezone()"),
    version: await engine.control("SELECT version()"),
  };
  const slots = new Slots(runDir, Number(values.sessions), Number(values["max-waiting"]));
  const executor = new Executor({ engine, slots, facts, logger });
  await listen(socketPath, (message, response) => {
    if (!answerProbe(message, response)) void executor.serve(message, response);
  });
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
  const server = createServer({ maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 0, requestTimeout: 0 }, onRequest);
  server.headersTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
}

/** The engine can hang at exit; nothing may outlive the parent. */
function leave(code: number): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), exitGraceMs);
  process.exit(code);
}

process.on("disconnect", () => leave(0));
process.on("SIGTERM", () => leave(0));
process.on("SIGINT", () => {});
process.on("unhandledRejection", (error) => {
  logger.fatal({ err: error }, "unhandled rejection");
  leave(1);
});

try {
  await main();
} catch (error) {
  logger.fatal({ err: error }, "the engine host did not start");
  leave(1);
}
