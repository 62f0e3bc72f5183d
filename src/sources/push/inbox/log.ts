/**
 * The append-only log of an inbox. Whoever appends waits for the same flush as everybody who came before it began: one
 * write and one sync for all. What could not be made durable is cut off again before anybody is told, so that an offset
 * never has two meanings.
 */
import type { FileHandle } from "node:fs/promises";
import { open, rm } from "node:fs/promises";
import { writeAll } from "../../../lib/files.ts";
import type { FrameFacts } from "./frames.ts";
import { writtenFrame } from "./frames.ts";
import { segmentPath, syncFolder } from "./segments.ts";

/** Rows to append; they get their offset when they are written. */
export type Entry = { readonly facts: Omit<FrameFacts, "o">; readonly body: readonly Buffer[] };

export type Segment = { readonly first: number; readonly path: string; bytes: number };

/** An entry with the offset of its first row. */
export type Placed = { readonly entry: Entry; readonly offset: number };

type Waiting = {
  readonly entry: Entry;
  readonly resolve: (offset: number) => void;
  readonly reject: (e: unknown) => void;
};

export type LogState = {
  readonly folder: string;
  /** The offset after the last durable row. */
  readonly end: number;
  /** In the order of their offsets; the last one is written on. */
  readonly segments: Segment[];
  /** Larger ones are not continued. */
  readonly segmentBytes: number;
};

/** What is longer is written from where it is. */
const joinedBytes = 262_144;

export class Log {
  readonly #folder: string;
  readonly #segments: Segment[];
  readonly #segmentBytes: number;
  readonly #flushed: (entries: readonly Placed[]) => void;
  #file: FileHandle | undefined;
  #end: number;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  /** Something of a failed write may be left: nothing may be appended behind it. */
  #isTorn = false;

  /** `flushed` is called when entries are durable, before those who wait are told. */
  constructor(state: LogState, flushed: (entries: readonly Placed[]) => void) {
    this.#folder = state.folder;
    this.#segments = state.segments;
    this.#segmentBytes = state.segmentBytes;
    this.#end = state.end;
    this.#flushed = flushed;
  }

  get end(): number {
    return this.#end;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Resolves with the offset of the first row when the rows are durable. Rejects with what the system says. */
  append(entry: Entry): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ entry, resolve, reject });
    this.#flushing ??= this.#flushAll();
    return promise;
  }

  /** Continues in a new segment, so that the present one may be deleted. Not while something is appended. */
  async roll(): Promise<void> {
    if (this.#flushing !== undefined || this.#last?.first === this.#end) return;
    const begun = this.#begin();
    // Those who append meanwhile are served in the new segment, or told why there is none.
    this.#flushing = begun.catch(() => {}).then(() => this.#flushAll());
    await begun;
  }

  /** Deletes the segments before the one with this offset. */
  async cut(before: number): Promise<void> {
    while (this.#segments.length > 1 && (this.#segments[1] as Segment).first <= before) {
      await rm((this.#segments[0] as Segment).path, { force: true });
      this.#segments.shift();
    }
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.#file?.close();
    this.#file = undefined;
  }

  get #last(): Segment | undefined {
    return this.#segments.at(-1);
  }

  async #flushAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0);
      try {
        await this.#flush(group);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  async #flush(group: readonly Waiting[]): Promise<void> {
    if (this.#isTorn) await this.#repair();
    if (this.#file === undefined || (this.#last?.bytes ?? 0) >= this.#segmentBytes) await this.#begin();
    const segment = this.#last as Segment;
    let offset = this.#end;
    const placed: Placed[] = [];
    const pieces: Buffer[] = [];
    for (const { entry } of group) {
      pieces.push(...writtenFrame(offset, entry.facts, entry.body));
      placed.push({ entry, offset });
      offset += entry.facts.n;
    }
    const bytes = await this.#write(segment, pieces);
    segment.bytes += bytes;
    this.#end = offset;
    this.#flushed(placed);
    placed.forEach((one, at) => void group[at]?.resolve(one.offset));
  }

  async #write(segment: Segment, pieces: Buffer[]): Promise<number> {
    const file = this.#file as FileHandle;
    this.#isTorn = true;
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    // Many small pieces cost a call more than copying them. Copies of large ones are garbage outside of the heap, which
    // has the whole heap collected again and again.
    const content = length > joinedBytes ? pieces : [Buffer.concat(pieces)];
    await writeAll(file, content, segment.bytes);
    await file.datasync();
    this.#isTorn = false;
    return length;
  }

  /** After a failed write or sync nothing is known of the rest of the file: it is cut, and not written on. */
  async #repair(): Promise<void> {
    const segment = this.#last as Segment;
    const file = this.#file as FileHandle;
    await file.truncate(segment.bytes);
    await file.sync();
    await this.#begin();
    this.#isTorn = false;
  }

  /** Opens the newest segment, or a new one when that has rows of an earlier process or is full. */
  async #begin(): Promise<void> {
    const last = this.#last;
    await this.#file?.close();
    this.#file = undefined;
    if (last?.first === this.#end) {
      this.#file = await open(last.path, "r+");
      return;
    }
    const path = segmentPath(this.#folder, this.#end);
    const file = await open(path, "w", 0o600);
    await syncFolder(this.#folder);
    this.#file = file;
    this.#segments.push({ first: this.#end, path, bytes: 0 });
  }
}
