/** Shared by the soak tests of pipes: faults in a running program. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { details } from "./pipes.ts";
import type { BenchService, Served } from "./serve.ts";

/** Kills the process of a pid file with -9; false when it is not running. */
export function kill(pidFile: string): boolean {
  try {
    process.kill((JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number }).pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** Acts as the operator: a service or a pipe that was killed too often stays down until it is started again. */
export async function revive(served: Served, service: BenchService, pipeIds: Iterable<string>): Promise<void> {
  const { params } = service;
  if ((await served.api.getService({ params })).state === "failed") {
    await served.api.updateServiceState({ params, body: { command: "start" } });
  }
  for (const pipeId of pipeIds) {
    const { state: word } = await details(served, service, pipeId);
    if (word !== "InternalError") continue;
    await served.api.updatePipeState({ params: { ...params, pipeId }, body: { command: "start" } });
  }
}

/** Retries work that goes through an engine that may have been killed a moment ago. */
export async function retried(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 60) throw error;
      await delay(500);
    }
  }
}
