/**
 * The benchmarks of this checkout and of another commit, in turns: the ratio of each field with its spread, and whether
 * something became slower. The other commit is a work tree with packages of its own, in the cache folder.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { numberOf } from "../harness/bounds.ts";
import { median, round } from "./bench.ts";
import { benchGoals } from "./goals.ts";
import { directionOf } from "./judge.ts";
import { benchNames, type Run, runBench } from "./run-bench.ts";

/** A loss below it counts for nothing, however often it is seen. */
const leastLoss = 0.05;
const runLimitMs = 15 * 60_000;

export type Compared = {
  readonly field: string;
  readonly base: number;
  readonly here: number;
  /** The median of this checkout over that of the other commit. */
  readonly ratio: number;
  /** The least and the largest ratio of two runs. */
  readonly spread: readonly [number, number];
  readonly verdict: "worse" | "better" | "equal" | "not judged";
};

/**
 * Worse by more than its noise: the medians differ by a twentieth or more, and every run here is worse than every run
 * of the other commit.
 */
export function comparedField(
  field: string,
  direction: -1 | 0 | 1,
  base: readonly number[],
  here: readonly number[],
): Compared {
  const [old, own] = [median(base), median(here)];
  const ratio = own / old;
  const spread = [Math.min(...here) / Math.max(...base), Math.max(...here) / Math.min(...base)] as const;
  const apart = spread[0] > 1 || spread[1] < 1;
  const gain = direction * Math.log(ratio);
  const differs = apart && Math.abs(ratio - 1) >= leastLoss;
  const verdict = direction === 0 ? "not judged" : !differs ? "equal" : gain < 0 ? "worse" : "better";
  return { field, base: old, here: own, ratio, spread, verdict };
}

/** Prints a table for each benchmark, and one line of JSON. False when something is worse, or was not measured here. */
export async function compareCommits(root: string, base: string, chosen: readonly string[]): Promise<boolean> {
  const tree = treeOf(root, base);
  const [here, there] = [benchNames(root), benchNames(tree)];
  const names = chosen.length > 0 ? chosen : here.filter((name) => there.includes(name));
  const unknown = names.filter((name) => !here.includes(name) || !there.includes(name));
  if (unknown.length > 0) throw new Error(`not in both commits: ${unknown.join(", ")}`);
  const rounds = numberOf("ROUNDS", 3);
  const worse: string[] = [];
  for (const name of names) {
    const runs = { base: [] as Run[], here: [] as Run[] };
    for (let turn = 0; turn < rounds; turn += 1) {
      // Each of them is the first one as often as the other.
      for (const side of turn % 2 === 0 ? (["base", "here"] as const) : (["here", "base"] as const)) {
        runs[side].push(await runBench(side === "base" ? tree : root, name, runLimitMs));
      }
    }
    const fields = comparedRuns(name, runs.base, runs.here);
    const missing = [...runs.base, ...runs.here].find(({ summary }) => summary === undefined);
    if (missing !== undefined) console.log(`${name}: a run has measured nothing\n${missing.output.slice(-1_000)}`);
    console.table(fields.map((one) => ({ bench: name, ...shown(one) })));
    worse.push(...fields.filter(({ verdict }) => verdict === "worse").map(({ field }) => `${name}.${field}`));
    if (missing !== undefined) worse.push(name);
  }
  console.log(JSON.stringify({ bench: "compare", ok: worse.length === 0, base, rounds, worse }));
  return worse.length === 0;
}

/** Fields that all runs have, and what the whole run took. */
function comparedRuns(name: string, base: readonly Run[], here: readonly Run[]): readonly Compared[] {
  const goals = benchGoals[name] ?? [];
  const valuesOf = (runs: readonly Run[], field: string) => runs.map(({ summary }) => summary?.[field]);
  const isNumbers = (values: readonly unknown[]): values is number[] =>
    values.every((value) => typeof value === "number" && value > 0);
  const whole = (field: "seconds" | "cpuSeconds") =>
    comparedField(
      `whole run, ${field}`,
      0,
      base.map((run) => run[field]),
      here.map((run) => run[field]),
    );
  const fields = Object.keys(here[0]?.summary ?? {}).flatMap((field) => {
    const [old, own] = [valuesOf(base, field), valuesOf(here, field)];
    if (field === "load" || !isNumbers(old) || !isNumbers(own)) return [];
    return [comparedField(field, directionOf(goals, field), old, own)];
  });
  return [...fields, whole("seconds"), whole("cpuSeconds")];
}

function shown({ field, base, here, ratio, spread, verdict }: Compared): Record<string, string | number> {
  const [low, high] = spread.map((value) => round(value));
  return {
    field,
    base: round(base, 3),
    here: round(here, 3),
    ratio: round(ratio, 3),
    spread: `${low} to ${high}`,
    verdict,
  };
}

/** The work tree of a commit. It is kept, with its packages. */
function treeOf(root: string, base: string): string {
  const run = (cwd: string, command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const commit = run(root, "git", "rev-parse", "--verify", `${base}^{commit}`);
  // Postgres runs as another user when root starts it, who cannot reach what is below root's home.
  const own = process.getuid?.() === 0 ? "/var/cache" : join(homedir(), ".cache");
  const cache = process.env.MILLRACE_CACHE ?? join(own, "millrace");
  const tree = join(cache, "commits", commit);
  if (!existsSync(tree)) run(root, "git", "worktree", "add", "--detach", "--force", tree, commit);
  // npm writes it last.
  const installed = join(tree, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) run(tree, "npm", "install", "--no-audit", "--no-fund");
  return tree;
}
