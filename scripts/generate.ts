/**
 * Writes the files that derive from code (`scripts/generated-files.ts`). With `--check` it writes nothing and
 * fails when one is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { generatedFiles } from "./generated-files.ts";

const check = process.argv.includes("--check");
let stale = 0;
for (const [file, content] of Object.entries(generatedFiles())) {
  const path = new URL(`../${file}`, import.meta.url);
  let current = "";
  try {
    current = readFileSync(path, "utf8");
  } catch {
    // A missing file is a stale one.
  }
  if (current === content) continue;
  stale += 1;
  console.log(`${check ? "stale" : "wrote"}: ${file}`);
  if (!check) writeFileSync(path, content);
}
process.exit(check && stale > 0 ? 1 : 0);
