/** Millrace itself, started as a user starts it, on the demo's own data directory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { FirstCredentials } from "../api/first-credentials.ts";
import { mainFile } from "../lib/program.ts";

export type Server = { readonly credentials: FirstCredentials; readonly pid: number; stop(): Promise<void> };

export async function startMillrace(dataDir: string): Promise<Server> {
  const log = join(dataDir, "server.log");
  const logFd = openSync(log, "a");
  const child = spawn(process.execPath, [mainFile, "serve", "--data-dir", dataDir, "--port", "0"], {
    stdio: ["ignore", logFd, logFd],
    // A process group of its own: Ctrl-C reaches the demo, which then stops the server in order.
    detached: true,
  });
  const credentials = await ready(child, dataDir, log);
  return { credentials, pid: child.pid as number, stop: () => stop(child) };
}

async function ready(child: ChildProcess, dataDir: string, log: string): Promise<FirstCredentials> {
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`the server did not start:\n${readFileSync(log, "utf8").slice(-4096)}`);
    try {
      const credentials = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as FirstCredentials;
      if ((await fetch(new URL("/health", credentials.baseUrl))).status === 200) return credentials;
    } catch {
      // Not there yet.
    }
    await delay(50);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await exited;
  clearTimeout(killer);
}
