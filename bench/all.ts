/** Every benchmark once, within a bounded time. */
import { round } from "./bench.ts";
import { benchGoals } from "./goals.ts";
import { judged } from "./judge.ts";
import { runBench } from "./run-bench.ts";

const limitMs = 40 * 60_000;

/** Prints each goal with its value, and one line of JSON. True when all of them are met. */
export async function runAll(root: string, names: readonly string[]): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  const rows: Record<string, string | number>[] = [];
  const missed: string[] = [];
  const took: Record<string, number> = {};
  for (const name of names) {
    const left = deadline - performance.now();
    const goals = benchGoals[name] ?? [];
    const run = left > 0 ? await runBench(root, name, left) : undefined;
    took[name] = round(run?.seconds ?? 0, 0);
    const result = judged(goals, run?.summary ?? {});
    console.log(`${name}: ${result.ok ? "ok" : `missed ${result.missed.join(", ")}`}, ${took[name]} s`);
    // Why there is nothing, without the places in the code.
    const lines = run?.output.trimEnd().split("\n") ?? ["no time left"];
    if (run?.summary === undefined)
      console.log(
        lines
          .filter((line) => !/^\s+at /.test(line))
          .slice(-5)
          .join("\n"),
      );
    rows.push(...result.rows.map(({ why: _, ...row }) => ({ bench: name, ...row })));
    missed.push(...result.missed.map((field) => `${name}.${field}`));
  }
  console.table(rows);
  console.log(JSON.stringify({ bench: "all", ok: missed.length === 0, missed, seconds: took }));
  return missed.length === 0;
}
