/**
 * `npm run soak -- NAME`: runs one long test. It prints its results and exits with status 1 when a guarantee is broken,
 * or when the run has not done what shows it (`bench/goals.ts`).
 * A soak file `NAME.soak.ts` exports `description` and `run`, which throws on the first broken guarantee.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { soakGoals } from "../bench/goals.ts";
import { judged } from "../bench/judge.ts";
import { MissingTool } from "../harness/missing.ts";

type SoakModule = { readonly description: string; run(): Promise<Record<string, string | number>> };

const here = fileURLToPath(new URL(".", import.meta.url));
const names = readdirSync(here)
  .filter((file) => file.endsWith(".soak.ts"))
  .map((file) => file.slice(0, -".soak.ts".length))
  .sort();

const name = process.argv[2];
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run soak -- NAME\nsoak tests: ${names.join(", ")}`);
  process.exit(2);
}

const module = (await import(`./${name}.soak.ts`)) as SoakModule;
console.log(`# ${name}: ${module.description}`);
try {
  const summary = await module.run();
  const { ok, missed } = judged(soakGoals[name] ?? [], summary);
  console.log(JSON.stringify({ soak: name, ok, missed: missed.join(), ...summary }));
  process.exit(ok ? 0 : 1);
} catch (error) {
  console.error(error instanceof MissingTool ? error.message : error);
  console.log(JSON.stringify({ soak: name, ok: false }));
  process.exit(1);
}
