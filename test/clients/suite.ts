/** What `npm run test:clients` knows of a client: how to get it, how to run it, and what came out. */
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { MissingTool } from "../../harness/missing.ts";

/** The service that the clients use. */
export type Target = {
  readonly host: string;
  readonly port: number;
  /** The port of the native protocol. */
  readonly nativePort: number;
  readonly password: string;
  /** Version of the engine: `26.7.2.1`. */
  readonly version: string;
};

export type Outcome = {
  readonly passed: number;
  /** Names of the tests that failed. */
  readonly failed: readonly string[];
  /** Tests that did not run: skipped by the suite itself, or of a protocol that is not served. */
  readonly skipped: number;
};

export type Suite = {
  readonly client: string;
  readonly version: string;
  /** `official`: the client's own integration tests. `smoke`: a script of this folder that uses the client. */
  readonly kind: "official" | "smoke";
  /** Why the official tests do not run; undefined when they do. */
  readonly note?: string;
  /** Throws MissingTool when the machine lacks a tool or the registry does not have the client. */
  run(target: Target): Promise<Outcome>;
};

/** Time limit of one suite, in milliseconds, including its download and build. */
export const suiteMs = 20 * 60_000;

/** Folder for one client, outside the repository. */
export function cacheFolder(name: string): string {
  return join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "clients", name);
}

export type Ran = { readonly status: number; readonly output: string };

/** Runs a program at low priority and returns its whole output. `install` says how to get a missing program. */
export async function runTool(
  command: string,
  args: readonly string[],
  options: {
    readonly install: string;
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly timeoutMs?: number;
  },
): Promise<Ran> {
  const { install, cwd, env, timeoutMs = suiteMs } = options;
  return await new Promise((resolve, reject) => {
    const settings = { cwd, env: { ...process.env, ...env }, timeout: timeoutMs, maxBuffer: 512 * 1024 * 1024 };
    execFile("nice", ["-n", "5", command, ...args], settings, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      if (status === 127) reject(new MissingTool(`${command} is missing: ${install}`));
      else resolve({ status, output: error?.killed ? `${stdout}${stderr}\ntime limit reached` : `${stdout}${stderr}` });
    });
  });
}

/** Like `runTool`, but throws MissingTool with the last line of the output when the program fails. */
export async function prepareWith(what: string, ...given: Parameters<typeof runTool>): Promise<string> {
  const { status, output } = await runTool(...given);
  if (status === 0) return output;
  throw new MissingTool(`${what} is not available: ${output.trim().split("\n").at(-1) ?? "no output"}`);
}
