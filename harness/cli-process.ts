/** Runs commands as a user does: the program as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mainFile } from "../src/lib/program.ts";
import type { CommandResult } from "./cli.ts";

export type RunOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Called with the running program. */
  readonly during?: (child: ChildProcess) => void;
};

/** Runs one command line to its end. `HOME` is the working directory. */
export async function runProgram(args: readonly string[], options: RunOptions): Promise<CommandResult> {
  const { cwd, env = {}, stdin = "", during } = options;
  const child = spawn(process.execPath, [mainFile, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk) => stdout.push(chunk));
  child.stderr.on("data", (chunk) => stderr.push(chunk));
  child.stdin.end(stdin);
  during?.(child);
  const code = await new Promise<number>((resolve) => child.once("close", (status) => resolve(status ?? -1)));
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}
