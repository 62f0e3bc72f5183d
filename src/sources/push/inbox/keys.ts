/**
 * The idempotency keys of an inbox: what each was answered with, for as long as the window lasts. The keys of rows that
 * are still in a segment are found there again; before a segment is deleted, its keys are written to another file. Ages
 * are counted by a clock that never steps within one process.
 */
import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder } from "./segments.ts";

export type KnownKey = {
  readonly key: string;
  /** Digest of the body. */
  readonly body: string;
  readonly offset: number;
  readonly rows: number;
  /** In ms since 1970. */
  readonly at: number;
};

/** Older keys are forgotten beyond this number, which takes about 100 MB. */
const mostKeys = 500_000;
const filePart = 4;

/** The time of day without its steps. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

export class KnownKeys {
  readonly #folder: string;
  readonly #known = new Map<string, KnownKey>();
  /** Not in a file yet. */
  #unsaved: KnownKey[] = [];
  #file: { readonly name: string; readonly since: number } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get size(): number {
    return this.#known.size;
  }

  async load(): Promise<void> {
    for (const file of await this.#files()) {
      for (const line of (await readFile(join(this.#folder, file), "utf8")).split("\n")) {
        const known = keyOf(line);
        if (known !== undefined) this.#known.set(known.key, known);
      }
    }
  }

  find(key: string, windowMs: number): KnownKey | undefined {
    const known = this.#known.get(key);
    return known === undefined || steadyNow() - known.at > windowMs ? undefined : known;
  }

  add(known: KnownKey, windowMs: number): void {
    this.#known.delete(known.key);
    this.#known.set(known.key, known);
    this.#unsaved.push(known);
    this.#forget(steadyNow() - windowMs);
  }

  /** Makes every key durable. Afterwards the segments that it came with may go. */
  async save(windowMs: number): Promise<void> {
    const now = steadyNow();
    await this.#removeFiles(now - windowMs);
    if (this.#unsaved.length === 0) return;
    const isNew = this.#file === undefined || now - this.#file.since > windowMs / filePart;
    if (isNew) this.#file = { name: `${String(Math.round(now)).padStart(16, "0")}.keys`, since: now };
    const saved = this.#unsaved.length;
    const lines = this.#unsaved.map(({ key, body, offset, rows, at }) => JSON.stringify([key, body, offset, rows, at]));
    await using file = await open(join(this.#folder, this.#file?.name as string), "a", 0o600);
    // A line that a crash has cut off must not swallow the next one.
    await file.appendFile(`\n${lines.join("\n")}\n`);
    await file.datasync();
    if (isNew) await syncFolder(this.#folder);
    this.#unsaved = this.#unsaved.slice(saved);
  }

  /** They are in the order of their ages. */
  #forget(before: number): void {
    for (const [key, { at }] of this.#known) {
      if (at >= before && this.#known.size <= mostKeys) return;
      this.#known.delete(key);
    }
  }

  /** A file has no newer key than the name of the next one says. */
  async #removeFiles(before: number): Promise<void> {
    const files = await this.#files();
    for (const [at, file] of files.entries()) {
      const next = files[at + 1];
      if (next !== undefined && Number.parseInt(next, 10) < before) await rm(join(this.#folder, file));
    }
  }

  async #files(): Promise<string[]> {
    return (await readdir(this.#folder)).filter((file) => file.endsWith(".keys")).sort();
  }
}

/** Undefined for a line that was not written completely. */
function keyOf(line: string): KnownKey | undefined {
  if (!line.startsWith("[") || !line.endsWith("]")) return undefined;
  const [key, body, offset, rows, at] = JSON.parse(line) as [string, string, number, number, number];
  return { key, body, offset, rows, at };
}
