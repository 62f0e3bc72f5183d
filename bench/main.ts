/**
 * `npm run bench -- NAME`: runs one benchmark, prints a human table and then one last line of JSON
 * `{"bench": NAME, "ratio": r, ...}`. Every ratio compares two things measured side by side in this run.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MissingTool } from "../harness/missing.ts";
import type { BenchModule } from "./bench.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const names = readdirSync(here)
  .filter((file) => file.endsWith(".bench.ts"))
  .map((file) => file.slice(0, -".bench.ts".length))
  .sort();

const name = process.argv[2];
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- NAME\nbenchmarks: ${names.join(", ")}`);
  process.exit(2);
}

const module = (await import(`./${name}.bench.ts`)) as BenchModule;
console.log(`# ${name}: ${module.description}`);
try {
  const result = await module.run();
  console.table(result.rows);
  console.log(JSON.stringify({ bench: name, ok: true, ...result.summary }));
  process.exit(0);
} catch (error) {
  console.error(error instanceof MissingTool ? error.message : error);
  console.log(JSON.stringify({ bench: name, ok: false }));
  process.exit(1);
}
