/** Secrets that the server shows once. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { durationMs } from "../flags.ts";
import { isForPeople, isNameOnly } from "../output/format.ts";
import type { Shell } from "../shell.ts";

/** Writes the secret to a new file with mode 0600, or shows it. `shown` is the result without the secret. */
export async function writeSecret(
  shell: Shell,
  secret: string,
  file: string | undefined,
  result: unknown,
  shown: unknown,
): Promise<void> {
  if (file !== undefined) writeFileSync(resolve(shell.io.cwd, file), `${secret}\n`, { mode: 0o600, flag: "wx" });
  if (!isForPeople(shell.format)) {
    await shell.printOne(file === undefined ? result : shown, []);
    if (file === undefined && isNameOnly(shell.format)) shell.say(`-o ${shell.format} does not show the secret`);
  } else if (file === undefined) {
    await shell.write(`${secret}\n`);
    shell.say("This is not shown again.");
  } else shell.say(`written to ${file}`);
}

/** The time of `--expires`: null for never. */
export function expiryOf(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  return text === "never" ? null : new Date(Date.now() + durationMs(text, "--expires")).toISOString();
}
