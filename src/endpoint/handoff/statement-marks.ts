/**
 * Marks what handed-over connections are running: the beginning of each one's statement, in a file of the run
 * directory. The kernel keeps it when the host is killed, so that the control plane can report what an engine was
 * running when it died.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Bytes kept of each statement. */
const slotBytes = 256;

const fileOf = (runDir: string) => join(runDir, "statements");

/** The host's side. */
export class StatementMarks {
  readonly #fd: number;

  constructor(runDir: string) {
    this.#fd = openSync(fileOf(runDir), "w", 0o600);
  }

  set(connection: number, statement: Buffer): void {
    const slot = Buffer.alloc(slotBytes);
    slot.write(shown(statement.toString("utf8", 0, 4 * slotBytes)).slice(0, slotBytes - 1));
    try {
      writeSync(this.#fd, slot, 0, slotBytes, connection * slotBytes);
    } catch (error) {
      // On a full disk, the statement runs without its mark: SELECT, DROP and TRUNCATE need no room.
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
}

/** The control plane's side: outlives the host and its run directory. */
export class StatementMarksReader {
  readonly #fd: number;

  constructor(runDir: string) {
    this.#fd = openSync(fileOf(runDir), "r");
  }

  /** The beginning of the connection's last statement; empty when it had none. */
  get(connection: number): string {
    const slot = Buffer.alloc(slotBytes);
    const read = readSync(this.#fd, slot, 0, slotBytes, connection * slotBytes);
    const text = slot.toString("utf8", 0, read);
    return text.slice(0, Math.max(0, text.indexOf("\0")));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** One line without texts in quotes, which may hold passwords and keys. An unclosed quote hides the rest. */
function shown(statement: string): string {
  return statement
    .replace(/'(?:[^'\\]|\\.|'')*('|$)/gs, "'...'")
    .replace(/\$(\w*)\$.*/s, "$$...")
    .replace(/\s+/g, " ")
    .trim();
}
