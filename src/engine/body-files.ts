/**
 * Insert data that a process of this machine gives to the engine as a file instead of a request's body: the bytes go
 * through no socket and no pipe. The sender writes the whole file into the host's folder first and then names it in its
 * request, so the engine never sees a part of it. A file belongs to the host from the request on.
 */
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { clickHouseException } from "../clickhouse/exception.ts";

const fileName = /^[0-9a-f-]{36}$/;
/** A file without a request after this time is of a sender that died in between. */
const orphanMs = 600_000;

export type BodyFile = {
  readonly path: string;
  /** Removes it. */
  done(): Promise<void>;
};

export class BodyFiles {
  readonly #dir: string;
  readonly #taken = new Set<string>();

  /** The folder is made, private to the user of the process. */
  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** The file that a request names. Throws NETWORK_ERROR when it is not there: the sender may try again. */
  take(name: string): BodyFile {
    if (!fileName.test(name)) throw clickHouseException("BAD_ARGUMENTS", "The name of the body file is not a UUID.");
    const path = join(this.#dir, name);
    if (!existsSync(path)) throw clickHouseException("NETWORK_ERROR", "The body file is not there any more.");
    this.#taken.add(name);
    return {
      path,
      done: async () => {
        this.#taken.delete(name);
        await rm(path, { force: true });
      },
    };
  }

  /** Removes what senders left that died before their request. */
  async sweep(now = Date.now()): Promise<void> {
    for (const name of readdirSync(this.#dir)) {
      const age = now - (statSync(join(this.#dir, name), { throwIfNoEntry: false })?.mtimeMs ?? now);
      if (age > orphanMs && !this.#taken.has(name)) await rm(join(this.#dir, name), { force: true });
    }
  }
}
