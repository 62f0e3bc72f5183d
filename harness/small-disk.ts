/** A disk that is small enough to be filled. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** False where a small disk cannot be mounted, which is said once. */
export const canMount = process.getuid?.() === 0 && process.platform === "linux";
if (!canMount) console.log("skipped: a small disk can only be mounted by root on Linux");

/** A disk of this size (`400m`), until its end. */
export function smallDisk(size: string): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "millrace-small-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  return {
    folder,
    [Symbol.dispose]: () => {
      execFileSync("umount", [folder]);
      rmdirSync(folder);
    },
  };
}

/** Writes to the file until nothing is free on its disk. */
export function fill(path: string): void {
  const file = openSync(path, "a");
  try {
    for (let size = 16 * 2 ** 20; size >= 4_096; size /= 2) writeUntilFull(file, Buffer.alloc(size));
  } finally {
    closeSync(file);
  }
}

function writeUntilFull(file: number, piece: Buffer): void {
  try {
    while (writeSync(file, piece) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
