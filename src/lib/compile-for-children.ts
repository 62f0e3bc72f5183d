/** The part of Node's compile cache that confined children read and cannot write (`compile-cache.ts`). */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import { codeRoot, processFile } from "./program.ts";

/**
 * Compiles what confined children run, once for each state of our files, while nobody waits for it: about a second of a
 * processor. Returns the process that does so, if there is something to compile.
 */
export async function compileForChildren(): Promise<ChildProcess | undefined> {
  const ofThisNode = getCompileCacheDir();
  if (ofThisNode === undefined) return undefined;
  const mark = join(ofThisNode, `children-${createHash("sha256").update(codeRoot).digest("hex").slice(0, 16)}`);
  const files = await readdir(codeRoot, { recursive: true });
  const times = await Promise.all(files.map(async (file) => (await stat(join(codeRoot, file))).mtimeMs));
  const newest = String(times.reduce((latest, time) => Math.max(latest, time), 0));
  if ((await readFile(mark, "utf8").catch(() => "")) === newest) return undefined;
  const child = spawn(process.execPath, [processFile("compile")], {
    stdio: "ignore",
    env: { NODE_COMPILE_CACHE: dirname(ofThisNode) },
  });
  child.on("error", () => {});
  child.once("exit", (code) => {
    if (code !== 0) return;
    try {
      writeFileSync(mark, newest);
    } catch {
      // A full disk does not stop this server. The next one compiles again.
    }
  });
  child.unref();
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return child;
}
