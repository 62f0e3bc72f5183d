/**
 * One engine per data directory. The engine itself does not check, and two on one directory destroy it: a host that
 * is killed and started again may meet its predecessor, still dying.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const lockName = "millrace-host.pid";

/**
 * Waits for a predecessor to be gone and removes what it left of its lock. For the process that starts hosts: a confined
 * host sees no other process, and would take a pid that was given to another program for its predecessor.
 */
export async function awaitUnlocked(dataDir: string, timeoutMs: number): Promise<void> {
  const path = join(dataDir, lockName);
  await awaitHolder(path, timeoutMs);
  rmSync(path, { force: true });
}

/** Writes our pid into the directory, after waiting for a predecessor to be gone. Rejects when it stays alive. */
export async function lockDirectory(dataDir: string, timeoutMs: number): Promise<void> {
  const path = join(dataDir, lockName);
  await awaitHolder(path, timeoutMs);
  writeFileSync(path, `${process.pid} ${startTime(process.pid) ?? ""}`, { mode: 0o600 });
}

async function awaitHolder(path: string, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs;
  for (let pid = holderOf(path); pid !== undefined; pid = holderOf(path)) {
    if (Date.now() > until) throw new Error(`process ${pid} still has the data directory open`);
    await delay(20);
  }
}

/** The process that holds the lock and is alive. A pid that was given to another program since does not count. */
function holderOf(path: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  const [pid = "", started = ""] = text.split(" ");
  if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return undefined;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined;
  }
  const current = startTime(Number(pid));
  return started !== "" && current !== undefined && current !== started ? undefined : Number(pid);
}

/** When the process started, in the kernel's ticks; undefined where there is no /proc, or for a zombie. */
function startTime(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? "gone" : fields[19];
  } catch {
    return undefined;
  }
}
