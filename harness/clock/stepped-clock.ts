/**
 * A clock that steps for one process: a library that is loaded into it answers for the time of day, for Node as for
 * everything else in the process. Its children have the clock of the machine.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("./stepped-clock.c", import.meta.url));

/** Why a clock cannot be stepped here; undefined: it can. */
export const steppedClockMissing =
  process.platform !== "linux"
    ? "clocks are stepped on Linux only"
    : spawnSync("cc", ["--version"]).status === 0
      ? undefined
      : "clocks are stepped by a library that needs a C compiler (cc)";

export class SteppedClock implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-clock-"));
  readonly #file = join(this.#folder, "seconds");
  /** The environment of the process whose clock steps. */
  readonly env: Record<string, string>;

  constructor() {
    const library = join(this.#folder, "stepped-clock.so");
    this.stepTo(0);
    const { status, stderr } = spawnSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source]);
    if (status !== 0) throw new Error(`the clock cannot be built: ${stderr}`);
    this.env = { LD_PRELOAD: library, STEPPED_CLOCK: this.#file };
  }

  /** The clock is so many seconds ahead of the machine's from now on, or behind it. */
  stepTo(seconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    // The file stays the same one: it is mapped.
    writeFileSync(this.#file, bytes, { flag: existsSync(this.#file) ? "r+" : "w" });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
