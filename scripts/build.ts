/**
 * Compiles the program for the published package, into `dist`: Node does not strip types from files below
 * `node_modules`. A checkout runs its sources and needs no build.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { demoFile, demoFiles } from "../src/demo/data-files.ts";
import { ownOpenApi } from "./generated-files.ts";
import { root } from "./house.ts";

const dist = join(root, "dist");
/** Files that the program reads at run time. */
const asset = /\.(sql|txt|bash)$/;

rmSync(dist, { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
execFileSync(process.execPath, [tsc, "--project", join(root, "tsconfig.build.json")], { stdio: "inherit" });
cpSync(join(root, "src"), dist, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || asset.test(path),
});
writeFileSync(join(dist, "openapi.json"), JSON.stringify(ownOpenApi(), null, 2));
mkdirSync(join(dist, "demo"), { recursive: true });
for (const name of demoFiles) copyFileSync(demoFile(name), join(dist, "demo", name));
// `prepare` runs before `prepack`, and its files have just been removed.
execFileSync(process.execPath, [join(root, "scripts", "build-console.ts")], { stdio: "inherit" });
console.log(`dist: ${(bytesOf(dist) / 1e6).toFixed(1)} MB`);

function bytesOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
