/**
 * The inbox of one pipe: rows that are durable and not loaded yet, in an order of their own. Requests append to it; the
 * pipe's worker reads its files, is told how far they are durable, and says what it has loaded.
 */
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { releaseBytes } from "../../../lib/release-bytes.ts";
import { Arrivals } from "./arrivals.ts";
import { type KnownKey, KnownKeys, steadyNow } from "./keys.ts";
import { type Entry, Log, type Segment } from "./log.ts";
import { framesOf, segmentsIn } from "./segments.ts";

/** When a worker is told that there is something to load. */
export type Readiness = {
  readonly rows: number;
  readonly bytes: number;
  /** Age of the oldest row. */
  readonly ageMs: number;
};

/** Rows to keep, whose bytes are released when they are durable, and the idempotency key that came with them. */
export type NewRows = {
  readonly facts: Omit<Entry["facts"], "i" | "b">;
  readonly body: Entry["body"];
  readonly key?: { readonly key: string; readonly body: string; readonly windowMs: number } | undefined;
};

export type Accepted = {
  /** The offset of the first row. */
  readonly offset: number;
  readonly rows: number;
  /** The same request was accepted before. */
  readonly isRepeat: boolean;
};

export type InboxOptions = {
  readonly folder: string;
  /** Everything before this offset is in the table. */
  readonly next: number;
  /** Called when files that are not needed any more cannot be deleted. */
  readonly onProblem: (error: unknown) => void;
  /** Larger segments are not continued; shortened in tests. */
  readonly segmentBytes?: number;
};

export type Depth = {
  readonly rows: number;
  readonly bytes: number;
  readonly ageMs: number;
  /** Rows accepted since the process began. */
  readonly acceptedRows: number;
  readonly keys: number;
};

/** A worker's question is answered after this time at the latest. */
const newsMs = 20_000;
const lookMs = 50;
/** A sender that waits for its rows lets others join its batch for this long. */
const joinMs = 100;
const defaultSegmentBytes = 64 * 2 ** 20;
/** A segment that is loaded completely is kept for more rows up to this share of its greatest size. */
const keptShare = 1 / 16;

export class Inbox {
  readonly folder: string;
  readonly #log: Log;
  readonly #keys: KnownKeys;
  readonly #arrivals: Arrivals;
  readonly #pending = new Map<
    string,
    { readonly body: string; readonly offset: Promise<number>; readonly rows: number }
  >();
  readonly #changed = new Set<() => void>();
  /** Files of large bodies, by the offset of their last row. */
  readonly #files = new Map<string, { readonly last: number; readonly bytes: number }>();
  /** Their bytes: each request asks for them, and there may be thousands of files. */
  #inFiles = 0;
  #next: number;
  #hurried = 0;
  #windowMs = 86_400_000;
  #cutting: Promise<void> | undefined;
  readonly #begunAt: number;
  readonly #onProblem: (error: unknown) => void;
  readonly #keptBytes: number;

  private constructor(
    { folder, next, onProblem, segmentBytes = defaultSegmentBytes }: InboxOptions,
    recovered: Recovered,
  ) {
    this.folder = folder;
    this.#onProblem = onProblem;
    this.#keptBytes = segmentBytes * keptShare;
    this.#keys = recovered.keys;
    this.#arrivals = recovered.arrivals;
    for (const [file, facts] of recovered.files) this.#addFile(file, facts);
    this.#next = next;
    const end = Math.max(next, recovered.end);
    this.#begunAt = end;
    this.#log = new Log({ folder, end, segments: recovered.segments, segmentBytes }, (entries) => {
      for (const { entry, offset } of entries) this.#durable(offset, entry);
      this.#tell();
    });
  }

  /** Finds what an earlier process has left. */
  static async open(options: InboxOptions): Promise<Inbox> {
    const { folder, next } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const recovered = await recover(folder);
    recovered.arrivals.loaded(next);
    const inbox = new Inbox(options, recovered);
    await inbox.#removeStrangers();
    return inbox;
  }

  /** The offset after the last durable row. */
  get end(): number {
    return this.#log.end;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#log.segments.reduce((sum, { bytes }) => sum + bytes, this.#inFiles);
  }

  get depth(): Depth {
    const { bytes, ageMs = 0 } = this.#arrivals.after(this.#next);
    return {
      ...{ rows: this.end - this.#next, bytes, ageMs },
      acceptedRows: this.end - this.#begunAt,
      keys: this.#keys.size,
    };
  }

  /** Resolves when the rows are durable. Throws IDEMPOTENCY_KEY_REUSED, or what the system says of the disk. */
  async append({ facts, body, key }: NewRows): Promise<Accepted> {
    if (key === undefined) return { offset: await this.#log.append({ facts, body }), rows: facts.n, isRepeat: false };
    this.#windowMs = key.windowMs;
    const before = this.#pending.get(key.key) ?? this.#keys.find(key.key, key.windowMs);
    if (before !== undefined) {
      if (before.body !== key.body) throw reused();
      return { offset: await before.offset, rows: before.rows, isRepeat: true };
    }
    const offset = this.#log.append({ facts: { ...facts, i: key.key, b: key.body }, body });
    this.#pending.set(key.key, { body: key.body, offset, rows: facts.n });
    try {
      return { offset: await offset, rows: facts.n, isRepeat: false };
    } finally {
      this.#pending.delete(key.key);
    }
  }

  /** Waits until there is enough to load after the offset, or for a while; returns the end of what is durable. */
  async news(after: number, readiness: () => Readiness, signal: AbortSignal): Promise<number> {
    const until = steadyNow() + newsMs;
    while (!signal.aborted && steadyNow() < until) {
      const waitMs = this.#untilReady(after, readiness());
      if (waitMs <= 0) return this.end;
      await this.#change(Math.min(waitMs, until - steadyNow()), signal);
    }
    return after;
  }

  /** Everything before the offset is in the table; what held it is deleted. */
  async loaded(next: number): Promise<void> {
    if (next > this.end)
      throw new AppError("STORED_STATE_UNREADABLE", `The inbox ends at ${this.end}, before ${next}.`);
    if (next > this.#next) {
      this.#next = next;
      this.#arrivals.loaded(next);
      this.#tell();
    }
    // What cannot be deleted now, because the disk is full for example, is deleted after a later batch.
    this.#cutting ??= this.#cut()
      .catch((error: unknown) => this.#onProblem(error))
      .finally(() => {
        this.#cutting = undefined;
      });
    await this.#cutting;
  }

  /** True when everything before the offset is in the table within the time. */
  async isLoaded(offset: number, limitMs: number, signal: AbortSignal): Promise<boolean> {
    const until = steadyNow() + limitMs;
    this.#hurried += 1;
    this.#tell();
    try {
      while (this.#next < offset && !signal.aborted && steadyNow() < until) {
        await this.#change(until - steadyNow(), signal);
      }
      return this.#next >= offset;
    } finally {
      this.#hurried -= 1;
    }
  }

  async close(): Promise<void> {
    await this.#cutting;
    await this.#log.close();
  }

  /** Time until a worker is told, in ms; at most 0 when there is enough. */
  #untilReady(after: number, { rows, bytes, ageMs }: Readiness): number {
    if (this.end <= after) return Number.POSITIVE_INFINITY;
    const held = this.#arrivals.after(after);
    if (this.end - after >= rows || held.bytes >= bytes) return 0;
    const limitMs = this.#hurried > 0 ? Math.min(joinMs, ageMs) : ageMs;
    // Looked at again soon: a service that wakes up makes rows ready sooner.
    return Math.min(limitMs - (held.ageMs ?? 0), Math.max(lookMs, limitMs / 20));
  }

  #durable(offset: number, { facts, body }: Entry): void {
    const end = offset + facts.n;
    this.#arrivals.add(end, facts.s ?? body.reduce((sum, { length }) => sum + length, 0));
    for (const piece of body) releaseBytes(piece);
    if (facts.x !== undefined) this.#addFile(facts.x, { last: end - 1, bytes: facts.s ?? 0 });
    if (facts.i !== undefined && facts.b !== undefined) {
      // The later one of both clocks: the next process counts from it, whichever of them has stepped.
      const at = Math.max(steadyNow(), facts.t);
      this.#keys.add({ key: facts.i, body: facts.b, offset, rows: facts.n, at }, this.#windowMs);
    }
  }

  #addFile(file: string, facts: { readonly last: number; readonly bytes: number }): void {
    this.#files.set(file, facts);
    this.#inFiles += facts.bytes;
  }

  async #cut(): Promise<void> {
    const [first] = this.#log.segments;
    const isEmpty =
      this.#next === this.end && this.#log.segments.reduce((sum, { bytes }) => sum + bytes, 0) > this.#keptBytes;
    if (isEmpty) await this.#log.roll();
    const isLoaded = (this.#log.segments[1]?.first ?? Number.POSITIVE_INFINITY) <= this.#next;
    const files = [...this.#files].filter(([, { last }]) => last < this.#next);
    if (first === undefined || (!isLoaded && files.length === 0)) return;
    await this.#keys.save(this.#windowMs);
    await this.#log.cut(this.#next);
    for (const [file, { bytes }] of files) {
      await rm(join(this.folder, file), { force: true });
      if (this.#files.delete(file)) this.#inFiles -= bytes;
    }
  }

  /** Bodies whose request did not get as far as a frame. */
  async #removeStrangers(): Promise<void> {
    for (const file of await readdir(this.folder)) {
      if (file.endsWith(".body") && !this.#files.has(file)) await rm(join(this.folder, file));
    }
  }

  #tell(): void {
    for (const changed of [...this.#changed]) changed();
  }

  #change(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#changed.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, Math.min(limitMs, newsMs)));
      this.#changed.add(done);
      signal.addEventListener("abort", done);
      if (signal.aborted) done();
    });
  }
}

type Recovered = {
  readonly end: number;
  readonly segments: Segment[];
  readonly keys: KnownKeys;
  readonly arrivals: Arrivals;
  readonly files: Map<string, { readonly last: number; readonly bytes: number }>;
};

/** Reads every frame: the keys and the ages are in them, and an incomplete one ends the log. */
async function recover(folder: string): Promise<Recovered> {
  const keys = new KnownKeys(folder);
  await keys.load();
  const arrivals = new Arrivals();
  const files = new Map<string, { readonly last: number; readonly bytes: number }>();
  const segments: Segment[] = [];
  const found: KnownKey[] = [];
  let end = 0;
  for (const { first, path } of await segmentsIn(folder)) {
    let bytes = 0;
    end = first;
    for await (const { frame } of framesOf(path)) {
      const { o, n, t, i, b, x, s = frame.body.length } = frame.facts;
      bytes += frame.bytes;
      end = o + n;
      arrivals.add(end, s, t);
      if (x !== undefined) files.set(x, { last: end - 1, bytes: s });
      // From now on, because the clock may have stepped since.
      if (i !== undefined && b !== undefined) found.push({ key: i, body: b, offset: o, rows: n, at: steadyNow() });
    }
    segments.push({ first, path, bytes });
  }
  for (const key of found) keys.add(key, Number.POSITIVE_INFINITY);
  await syncNewest(segments);
  return { end, segments, keys, arrivals, files };
}

/** A frame may be complete because the system kept what the process before had not synced: it counts from now on. */
async function syncNewest(segments: readonly Segment[]): Promise<void> {
  const newest = segments.at(-1);
  if (newest === undefined) return;
  await using file = await open(newest.path, "r+");
  await file.sync();
}

function reused(): AppError {
  const message = "This Idempotency-Key came with another body before. Send another key, or the same body.";
  return new AppError("IDEMPOTENCY_KEY_REUSED", message);
}
