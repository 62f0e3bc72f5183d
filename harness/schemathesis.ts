/**
 * Schemathesis: random requests made from an OpenAPI document. It is expected in
 * `$MILLRACE_CACHE/python/schemathesis` (default `~/.cache/millrace`), a virtual environment of Python 3.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const cache = process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace");
const home = join(cache, "python", "schemathesis");
const program = join(home, "bin", "schemathesis");

/** Why Schemathesis cannot run; undefined when it can. */
export function schemathesisMissing(): string | undefined {
  if (existsSync(program)) return undefined;
  return `Schemathesis is missing: run "python3 -m venv ${home} && ${home}/bin/pip install schemathesis".`;
}

/** Runs it in `folder`; not `ok` when a check failed or the time was over. The output says which requests show it. */
export async function schemathesis(
  folder: string,
  args: readonly string[],
  limitMs: number,
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const child = spawn(program, ["run", ...args, "--no-color"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const killer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += String(chunk);
    });
  }
  const [code] = await once(child, "close");
  clearTimeout(killer);
  return { ok: code === 0, output };
}
