/** Starts the launcher, and sends it the program to execute. */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { compileCacheFolder } from "../lib/compile-cache.ts";
import { processFile } from "../lib/program.ts";
import { type Launch, launchVariable } from "./launch.ts";

/** Starts a process that waits for `sendLaunch`. It ends when this process ends before that. */
export function startLauncher(stdio: StdioOptions): ChildProcess {
  const compiled = compileCacheFolder();
  const streams = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  return spawn(process.execPath, ["--require", processFile("launcher"), "-"], {
    stdio: [...streams, "pipe"],
    // A session of its own: where the system groups processes by session, each child has one share of the processors.
    detached: true,
    env: {
      [launchVariable]: String(streams.length),
      ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
    },
  });
}

/** The launcher becomes the program. */
export function sendLaunch(launcher: ChildProcess, launch: Launch): void {
  const pipe = launcher.stdio.at(-1) as Writable;
  // The exit of a launcher that has ended is reported separately.
  pipe.on("error", () => {});
  pipe.end(JSON.stringify(launch));
}
