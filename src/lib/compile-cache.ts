/**
 * Compiled code of this program, which Node keeps for the next start: in a folder of this user, because others could
 * leave code in a shared one. Confined children only read it: whoever writes it decides what the others run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { constants, homedir, setPriority } from "node:os";
import { dirname, join } from "node:path";
import { codeRoot, processFile } from "./program.ts";

/** Keeps what this process loads from here on. Does nothing when NODE_COMPILE_CACHE has named another folder. */
export function keepCompiledCode(): void {
  enableCompileCache(join(homedir(), ".cache", "millrace", "compile"));
}

/** The folder of this process, as NODE_COMPILE_CACHE names it; undefined: it can write none. */
export function compileCacheFolder(): string | undefined {
  const ofThisNode = getCompileCacheDir();
  return ofThisNode === undefined ? undefined : dirname(ofThisNode);
}

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
    if (code === 0) writeFileSync(mark, newest);
  });
  child.unref();
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return child;
}
