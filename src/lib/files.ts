/** Folders. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Removes everything in the folder and keeps the folder itself, which the rules of confined processes may refer to. */
export function emptyFolder(path: string): void {
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true, maxRetries: 3 });
}
