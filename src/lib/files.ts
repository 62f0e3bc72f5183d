/** Folders, and what is written to files. */
import { randomUUID } from "node:crypto";
import { type FileHandle, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Half of what the kernel accepts as a path: 4096 bytes, and a name has at most 255. */
const pathLength = 2048;

/**
 * Removes everything in the folder and keeps the folder itself, which the rules of confined processes may refer to. A
 * confined process may have left millions of files there, so nothing waits for it.
 */
export async function emptyFolder(path: string): Promise<void> {
  for (const name of await readdir(path)) await removeFolder(join(path, name));
}

/**
 * Removes a folder and everything in it, or a file, also below paths that are too long for the kernel: a confined
 * process can create them, step by step. Links are not followed. Nothing happens when the folder is missing.
 */
export async function removeFolder(path: string): Promise<void> {
  for (;;) {
    try {
      return await rm(path, { recursive: true, force: true, maxRetries: 3 });
    } catch (error) {
      const { code, path: deep = "" } = error as NodeJS.ErrnoException;
      if (code !== "ENAMETOOLONG") throw error;
      const part = dirname(deep.slice(0, pathLength));
      if (!part.startsWith(`${path}/`)) throw error;
      // The lower part becomes a neighbour, under a path that is as much shorter.
      await rename(part, join(path, randomUUID()));
    }
  }
}

/**
 * Writes all of the pieces from `position` on: a disk that is nearly full takes a part of them. Rejects with what the
 * system says when it takes no more.
 */
export async function writeAll(
  file: Pick<FileHandle, "writev">,
  pieces: readonly Buffer[],
  position: number,
): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  for (let written = 0, rest = pieces; written < length; ) {
    written += (await file.writev(rest, position + written)).bytesWritten;
    if (written < length) rest = [Buffer.concat(pieces).subarray(written)];
  }
}
