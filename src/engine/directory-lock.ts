/**
 * At most one engine per data directory. The engine itself does not check, and two on one directory destroy it: a host
 * that is killed and restarted may meet its predecessor, which is still exiting.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { removeFolder } from "../lib/files.ts";

const lockName = "millrace-host.pid";

/**
 * Waits until a predecessor has exited and removes its stale lock. Called by the process that starts hosts: a
 * confined host sees no other process, and would mistake a reused pid for its predecessor.
 */
export async function awaitUnlocked(dataDir: string, timeoutMs: number): Promise<void> {
  const path = join(dataDir, lockName);
  await awaitHolder(path, timeoutMs);
  // A host may have made a folder of it.
  await removeFolder(path);
}

/**
 * Writes our pid into the directory, after waiting for a predecessor to exit. Rejects when the predecessor stays alive.
 */
export async function lockDirectory(dataDir: string, timeoutMs: number): Promise<void> {
  const path = join(dataDir, lockName);
  await awaitHolder(path, timeoutMs);
  writeFileSync(path, `${process.pid} ${startTime(process.pid) ?? ""}`, { mode: 0o600 });
}

async function awaitHolder(path: string, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let pid = holderOf(path); pid !== undefined; pid = holderOf(path)) {
    if (performance.now() > until) throw new Error(`process ${pid} still has the data directory open`);
    await delay(20);
  }
}

/** The live process that holds the lock. A pid reused by another program does not count. */
function holderOf(path: string): number | undefined {
  const text = readSmall(path);
  if (text === undefined) return undefined;
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

/** A host can write to this folder, so its content is untrusted: no link is followed and no pipe is waited for. */
function readSmall(path: string): string | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(64);
      return fstatSync(fd).isFile() ? bytes.toString("utf8", 0, readSync(fd, bytes)) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Start time of the process, in the kernel's ticks; undefined where there is no /proc, or for a zombie. */
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
