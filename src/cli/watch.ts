/** Output that repeats: redrawn on a terminal, in machine formats one document for each change. */
import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "./errors.ts";
import { isForPeople } from "./output/format.ts";
import type { Shell } from "./shell.ts";

const intervalMs = 2_000;

/** Never returns before Ctrl-C. Survives a server that does not answer for a while. */
export async function watch<T>(
  shell: Shell,
  read: () => Promise<T>,
  print: (value: T) => Promise<void>,
): Promise<void> {
  const { stdout } = shell.io;
  const redraws = stdout.isTTY === true && !shell.isDumb && isForPeople(shell.format);
  let before: string | undefined;
  for (;;) {
    const value = await answered(shell, read);
    const text = JSON.stringify(value);
    if (redraws) stdout.write("\u001b[H\u001b[2J");
    if (value !== undefined && (redraws || text !== before)) await print(value);
    before = text ?? before;
    await delay(intervalMs, undefined, { signal: shell.signal });
  }
}

async function answered<T>(shell: Shell, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CliError && error.code === "UNREACHABLE")) throw error;
    shell.say(error.message);
    return undefined;
  }
}
