import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** kill -9. Resolves when the process has ended; one that has ended, or never was, is left. */
export async function killChild(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
