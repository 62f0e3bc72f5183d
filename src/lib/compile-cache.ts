/**
 * Compiled code of this program, which Node keeps for the next start: in a folder of this user, because others could
 * leave code in a shared one. Confined children only read it: whoever writes it decides what the others run.
 */
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Keeps what this process loads from here on. Does nothing when NODE_COMPILE_CACHE has named another folder. */
export function keepCompiledCode(): void {
  enableCompileCache(join(homedir(), ".cache", "millrace", "compile"));
}

/** The folder of this process, as NODE_COMPILE_CACHE names it; undefined: it can write none. */
export function compileCacheFolder(): string | undefined {
  const ofThisNode = getCompileCacheDir();
  return ofThisNode === undefined ? undefined : dirname(ofThisNode);
}
