/** Runs one benchmark of a checkout in a process of its own, and reads its last line. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { chromiumProgram } from "../harness/chromium.ts";
import { type Cost, costOf, type Summary } from "./bench.ts";

/** `summary` is missing when the run has measured nothing. */
export type Run = Cost & { readonly summary?: Summary; readonly output: string };

export function benchNames(root: string): readonly string[] {
  return readdirSync(join(root, "bench"))
    .filter((file) => file.endsWith(".bench.ts"))
    .map((file) => file.slice(0, -".bench.ts".length))
    .sort();
}

/** Ends the run, with everything that it has started, after the limit. */
export async function runBench(root: string, name: string, limitMs: number): Promise<Run> {
  let output = "";
  const cost = await costOf(async () => {
    const args = ["run", "--silent", "bench", "--", name];
    // The same browser for every checkout: an older one may prefer another.
    const env = { ...process.env, ...(chromiumProgram === undefined ? {} : { MILLRACE_CHROMIUM: chromiumProgram }) };
    const child = spawn("npm", args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], detached: true, env });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
    const limit = setTimeout(() => process.kill(-(child.pid as number), "SIGKILL"), limitMs);
    await once(child, "close");
    clearTimeout(limit);
  });
  const summary = summaryOf(output);
  return { ...cost, output, ...(summary === undefined ? {} : { summary }) };
}

function summaryOf(output: string): Summary | undefined {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  if (!last.startsWith('{"bench":')) return undefined;
  const { bench: _, ...summary } = JSON.parse(last) as Summary;
  return Object.keys(summary).length > 1 ? summary : undefined;
}
