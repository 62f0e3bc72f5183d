/**
 * `BACKUP ... TO S3(...)` in the engine library. The library's main function never starts the pool of threads for it,
 * and the engine refuses the statement ("The BackupsIOThreadPool is not initialized"). In the memory of the test's
 * server, the accessor of this pool jumps to the one of the general pool, which is started. Everything else is the
 * engine's own: the statement, the client of S3, the files.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { engineLibrary } from "../../src/engine/chdb/library.ts";
import { nativeLibrary } from "../../src/lib/native-library.ts";

/** Addresses of the two accessors in the library's file and in its image, and the bytes with which both begin. */
const generalPool = 0xf1cd740;
const backupPool = 0xf1cd980;
const codeSegment = { offset: 0x916d46c, address: 0x916e46c };
const firstBytes = Buffer.from("415741565348 83ec20 0fb605".replaceAll(" ", ""), "hex");

/** Why BACKUP to S3 cannot be run here; undefined when it can. */
export function backupThreadsMissing(): string | undefined {
  const file = openSync(engineLibrary(), "r");
  try {
    const isKnown = [generalPool, backupPool].every((address) => {
      const at = address - codeSegment.address + codeSegment.offset;
      return bytesAt(file, at).equals(firstBytes);
    });
    return isKnown ? undefined : "BACKUP to S3 cannot run here: the engine library is another build.";
  } finally {
    closeSync(file);
  }
}

/** Loads the library into this process and redirects the accessor. Throws with the reason of `backupThreadsMissing`. */
export function shareThreadsWithBackups(): void {
  const missing = backupThreadsMissing();
  if (missing !== undefined) throw new Error(missing);
  nativeLibrary().open({ library: "chdb", path: engineLibrary() });
  const line = readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .find((text) => text.includes("libchdb.so"));
  const base = Number.parseInt(line ?? "", 16);
  const jump = Buffer.alloc(5, 0xe9);
  jump.writeInt32LE(generalPool - backupPool - jump.length, 1);
  const memory = openSync("/proc/self/mem", "r+");
  try {
    writeSync(memory, jump, 0, jump.length, base + backupPool);
  } finally {
    closeSync(memory);
  }
}

function bytesAt(file: number, position: number): Buffer {
  const bytes = Buffer.alloc(firstBytes.length);
  readSync(file, bytes, 0, bytes.length, position);
  return bytes;
}
