/**
 * Marks which handed-over connections have a request in progress: one byte for each in a file of the run directory. The
 * kernel keeps it when the host is killed, so the control plane can distinguish reusable connections from broken ones.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { maxConnections } from "./messages.ts";

const busy = Buffer.from([1]);
const atRest = Buffer.from([0]);

const fileOf = (runDir: string) => join(runDir, "busy");

/** The host's side. A mark is in the file when the call returns, and takes a few microseconds. */
export class BusyMarks {
  readonly #fd: number;

  constructor(runDir: string) {
    this.#fd = openSync(fileOf(runDir), "w", 0o600);
    // The file gets its full length now, so that no later mark can fail on a full disk.
    writeSync(this.#fd, Buffer.alloc(maxConnections));
  }

  set(connection: number, isBusy: boolean): void {
    writeSync(this.#fd, isBusy ? busy : atRest, 0, 1, connection);
  }
}

/** The control plane's side: outlives the host and its run directory. */
export class BusyMarksReader {
  readonly #fd: number;

  constructor(runDir: string) {
    this.#fd = openSync(fileOf(runDir), "r");
  }

  isBusy(connection: number): boolean {
    const byte = Buffer.alloc(1);
    return readSync(this.#fd, byte, 0, 1, connection) === 1 && byte[0] === 1;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
