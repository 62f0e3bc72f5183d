/**
 * Finds and ends processes that an earlier run may have left. A process is identified by its pid *and* its start time,
 * so that a reused pid is never mistaken for it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Start time of a process in an opaque form; undefined when there is no such process (or only a zombie). */
export function startTimeOf(pid: number): string | undefined {
  try {
    if (existsSync("/proc/self/stat")) {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return fields[0] === "Z" ? undefined : fields[19];
    }
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Resident memory of a process; undefined when it is gone, or when the system does not report it. */
export function residentBytes(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}

/** Records a child in a pid file, so that `endRecorded` can end it if this process dies first. */
export function recordProcess(file: string, pid: number): void {
  writeFileSync(file, JSON.stringify({ pid, startTime: startTimeOf(pid) }));
}

/** Kills the process in the pid file, if it still runs, and waits until it has ended. Removes the file. */
export async function endRecorded(file: string): Promise<void> {
  if (!existsSync(file)) return;
  try {
    const noted = JSON.parse(readFileSync(file, "utf8")) as { pid: number; startTime?: string };
    if (noted.startTime !== undefined) await endProcess(noted.pid, noted.startTime);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // A truncated pid file names no process.
  }
  rmSync(file, { force: true });
}

async function endProcess(pid: number, startTime: string): Promise<void> {
  for (let waited = 0; startTimeOf(pid) === startTime; waited += 20) {
    if (waited % 1000 === 0) process.kill(pid, "SIGKILL");
    if (waited > 10_000) throw new Error(`process ${pid} of an earlier run does not end`);
    await delay(20);
  }
}
