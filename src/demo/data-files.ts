/** The flights of the demo: in the package itself, or in `vega-datasets` in a checkout. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const demoFiles = ["flights-3m.parquet", "flights-20k.json"] as const;

/** Path of a data file. The build of the package copies these files beside this one. */
export function demoFile(name: (typeof demoFiles)[number]): string {
  const packaged = join(import.meta.dirname, name);
  return existsSync(packaged)
    ? packaged
    : fileURLToPath(new URL(`../data/${name}`, import.meta.resolve("vega-datasets")));
}
