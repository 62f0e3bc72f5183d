/** Starts the confined process of pipe workers. */

import type { ChildProcess } from "node:child_process";
import type { GroupLimits } from "../../../confinement/cgroups.ts";
import { pipeWorkerRules } from "../../../confinement/process-rules.ts";
import type { ReadyLauncher } from "../../../confinement/ready-launcher.ts";
import { spawnConfined } from "../../../confinement/spawn.ts";
import { childEnvironment } from "../../../lib/child-environment.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { processFile } from "../../../lib/program.ts";

/** Several times the threads of Node and its pool. */
const maxTasks = 256;

export type WorkerProcessOptions = {
  /** Unique among running workers. */
  readonly name: string;
  /** True when its pipes may use the machine's own credentials in AWS. */
  readonly hasCredentials: boolean;
  readonly readyLauncher: ReadyLauncher | undefined;
  readonly limits: Omit<GroupLimits, "tasks">;
  /** Folders that it reads. They exist. */
  readonly readFolders: readonly string[];
};

/** The process has a channel, and its standard error is a pipe that the caller reads. */
export function startWorkerProcess(options: WorkerProcessOptions): ChildProcess {
  const { name, hasCredentials, readyLauncher, limits, readFolders } = options;
  const aws = hasCredentials ? "credentials" : "region";
  const { environment, reads } = childEnvironment({ home: "/nonexistent", aws });
  const rules = pipeWorkerRules([...reads, ...readFolders]);
  return spawnConfined(process.execPath, [processFile("pipe-worker")], rules, {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    environment,
    readyLauncher,
    group: { name: `pipe-${name}`, tasks: maxTasks, ...limits },
  });
}

/**
 * True for a source that is read with a role or with the machine's own credentials: see
 * `src/sources/aws/credentials.ts`.
 */
export function usesOwnCredentials({ authentication, iamRole }: JsonObject): boolean {
  return authentication === "IAM_ROLE" || iamRole !== undefined;
}
