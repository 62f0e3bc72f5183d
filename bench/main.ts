/**
 * `npm run bench -- NAME`: runs one benchmark, prints what it measured, its goals, and one last line of JSON
 * `{"bench": NAME, "ok": ..., ...}`. `all` runs every one of them, and `compare BASE [NAME...]` runs those of another
 * commit beside those of this checkout.
 */
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { MissingTool } from "../harness/missing.ts";
import { runAll } from "./all.ts";
import { type BenchModule, round } from "./bench.ts";
import { compareCommits } from "./compare.ts";
import { benchGoals } from "./goals.ts";
import { judged } from "./judge.ts";
import { benchNames } from "./run-bench.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const names = benchNames(root);

async function runOne(name: string): Promise<boolean> {
  const module = (await import(`./${name}.bench.ts`)) as BenchModule;
  console.log(`# ${name}: ${module.description}`);
  try {
    const { rows, summary } = await module.run();
    const { ok, missed, rows: goals } = judged(benchGoals[name] ?? [], summary);
    console.table(rows);
    console.table(goals);
    const run = { bench: name, ok, missed: missed.join(), load: round(loadavg()[0] ?? 0) };
    console.log(JSON.stringify({ ...run, ...summary }));
    return ok;
  } catch (error) {
    console.error(error instanceof MissingTool ? error.message : error);
    console.log(JSON.stringify({ bench: name, ok: false }));
    return false;
  }
}

async function main([name = "", ...rest]: readonly string[]): Promise<boolean> {
  if (name === "all" && rest.length === 0) return await runAll(root, names);
  const [base, ...chosen] = rest;
  if (name === "compare" && base !== undefined) return await compareCommits(root, base, chosen);
  if (names.includes(name) && rest.length === 0) return await runOne(name);
  console.error(`usage: npm run bench -- NAME | all | compare BASE [NAME...]\nbenchmarks: ${names.join(", ")}`);
  process.exit(2);
}

process.exit((await main(process.argv.slice(2))) ? 0 : 1);
