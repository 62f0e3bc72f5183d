/** Starts the process of a pipe's worker behind its wall. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pipeWorkerRules } from "../../confinement/room-rules.ts";
import { spawnConfined } from "../../confinement/spawn.ts";
import { childEnvironment } from "../../lib/child-environment.ts";
import type { JsonObject } from "../../lib/json.ts";

const workerFile = fileURLToPath(new URL("../../processes/pipe-worker.ts", import.meta.url));

/** Threads of Node and of its pool, several times over. */
const maxTasks = 256;

export type WorkerProcessOptions = {
  /** Like no other worker's that runs. */
  readonly name: string;
  readonly config: JsonObject;
  /** Folder of compiled code, the pipe's own; made when it is missing. */
  readonly cacheDir: string;
  readonly launcherCacheDir: string;
};

/** The process has a channel, and its standard error is ours. */
export function startWorkerProcess({ name, config, cacheDir, launcherCacheDir }: WorkerProcessOptions): ChildProcess {
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
  const aws = usesOwnCredentials(config) ? "credentials" : "region";
  const { environment, reads } = childEnvironment({ home: join(cacheDir, "home"), compileCacheDir: cacheDir, aws });
  const rules = pipeWorkerRules({ folders: [cacheDir], read: reads });
  return spawnConfined(process.execPath, [workerFile], rules, {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    environment,
    launcherCacheDir,
    group: { name: `pipe-${name}`, tasks: maxTasks },
  });
}

/** True for a source that is read as a role, or as the machine itself: see `src/sources/aws/credentials.ts`. */
export function usesOwnCredentials({ authentication, iamRole }: JsonObject): boolean {
  return authentication === "IAM_ROLE" || iamRole !== undefined;
}
