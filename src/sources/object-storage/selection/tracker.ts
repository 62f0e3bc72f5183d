/**
 * The state of objects: which versions are done (durable marks), which are in progress (memory), and up to which key
 * everything is done (the cursor, also a mark). Progress gauges are derived from it.
 */
import { createHash } from "node:crypto";
import { marks } from "../../contract/marks.ts";
import type { SourceContext } from "../../contract/source.ts";
import type { FileMark, ObjectDurable } from "../declaration/durable.ts";
import type { ObjectFile, ObjectStore } from "../stores/store.ts";
import { compareKeys } from "./glob.ts";

const fileMark = (key: string) => `o:${key}` as const;

/** Changes of the time that a listing takes are reported from this share and this many ms on. */
const noticeable = { share: 0.25, ms: 20 };

export class Tracker {
  readonly #context: SourceContext<ObjectDurable>;
  /** Versions handed out and not yet durable. */
  readonly #onTheirWay = new Map<string, { readonly file: ObjectFile; readonly foundAt: number }>();
  #found = { files: 0, bytes: 0 };
  #done = { files: 0, bytes: 0 };
  readonly #startedAt = performance.now();
  /** A digest of the files that were looked up last, when all of them were known. */
  #known: string | undefined;
  #listMs = 0;
  #hasReported = false;

  constructor(context: SourceContext<ObjectDurable>) {
    this.#context = context;
  }

  /**
   * Forgets what was found and not handed out, because reading was interrupted: it will be found again. Only when
   * nothing that was handed out is still being inserted.
   */
  forget(): void {
    this.#onTheirWay.clear();
    this.#known = undefined;
    this.#found = { ...this.#done };
  }

  /** The key up to which an earlier run had finished everything. */
  async cursor(): Promise<string | undefined> {
    return (await this.#context.ledger.marks([this.#cursorKey()])).get(this.#cursorKey());
  }

  /** Everything up to the key is done or in progress; saved only when nothing is in progress. */
  async moveCursor(key: string): Promise<void> {
    if (this.#onTheirWay.size > 0) return;
    await this.#context.ledger.note(marks([this.#cursorKey(), key]), {});
  }

  /**
   * The versions that are neither done nor in progress, and those that are to be loaded once more. Keys that were
   * loaded with other content are returned in `replaced`.
   */
  async news(files: readonly ObjectFile[]): Promise<{ fresh: ObjectFile[]; replaced: ObjectFile[] }> {
    // Only this replica writes the marks of its objects: a listing without a change needs no look at them.
    const digest = digestOf(files);
    if (files.length === 0 || digest === this.#known) return { fresh: [], replaced: [] };
    // Before the marks are read: what becomes durable meanwhile is on its way no more, and its mark is not among them.
    const open = new Set(files.filter(({ key }) => this.#onTheirWay.has(key)));
    const known = await this.#context.ledger.marks(files.map((file) => fileMark(file.key)));
    const fresh: ObjectFile[] = [];
    const replaced: ObjectFile[] = [];
    for (const file of files) {
      if (open.has(file) || this.#onTheirWay.has(file.key)) continue;
      const mark = known.get(fileMark(file.key));
      if (mark === undefined) fresh.push(file);
      else if (mark.result === "again") fresh.push({ ...file, again: mark.again ?? 1 });
      else if (mark.result === "gone") fresh.push(file);
      else if (mark.etag === file.etag) continue;
      else replaced.push(mark.again === undefined ? file : { ...file, again: mark.again });
    }
    this.#known = open.size > 0 || fresh.length + replaced.length > 0 ? undefined : digest;
    return { fresh, replaced };
  }

  /**
   * Loading an object again whose earlier content is in the table would duplicate rows: the change is only recorded.
   */
  async skip(files: readonly ObjectFile[], store: Pick<ObjectStore, "pathOf">): Promise<void> {
    if (files.length === 0) return;
    const message = "The object was replaced after it had been loaded or given up; its new content is not loaded.";
    const records = files.map(({ key, etag }) => {
      return { origin: store.pathOf(key), position: `version ${etag}`, message, rows: 0 };
    });
    await this.#context.ledger.reject(records);
    await this.#context.ledger.note(marksOf(sortByKey(files), "skipped"), { errors: files.length });
  }

  /** Reports the time of a listing, when it differs noticeably from the one before. */
  listed(ms: number): void {
    if (Math.abs(ms - this.#listMs) < Math.max(noticeable.ms, noticeable.share * this.#listMs)) return;
    this.#listMs = ms;
    this.report({ listMs: ms });
  }

  /** What the objects that are to be loaded once more begin with. */
  async prefixesAgain(): Promise<readonly string[]> {
    return (await this.#context.ledger.marks(["again"])).get("again")?.prefixes ?? [];
  }

  /** The version that is known of an object that is to be loaded once more; undefined when it is not to be. */
  async wantedAgain(key: string): Promise<ObjectFile | undefined> {
    const mark = await this.resultOf(key);
    return mark?.result === "again" ? { key, etag: mark.etag, size: 0, again: mark.again ?? 1 } : undefined;
  }

  isOnItsWay(key: string): boolean {
    return this.#onTheirWay.has(key);
  }

  async resultOf(key: string): Promise<FileMark | undefined> {
    return (await this.#context.ledger.marks([fileMark(key)])).get(fileMark(key));
  }

  take(files: readonly ObjectFile[]): void {
    for (const file of files) {
      if (!this.#onTheirWay.has(file.key)) this.#add(this.#found, file);
      this.#onTheirWay.set(file.key, { file, foundAt: this.#onTheirWay.get(file.key)?.foundAt ?? performance.now() });
    }
    // Once also for nothing: a pipe without objects is not behind.
    if (this.#onTheirWay.size > 0 || !this.#hasReported) this.report();
  }

  finish(keys: readonly string[]): void {
    for (const key of keys) {
      const found = this.#onTheirWay.get(key);
      if (found === undefined) continue;
      this.#onTheirWay.delete(key);
      this.#add(this.#done, found.file);
    }
    this.report();
  }

  report(gauges: Readonly<Record<string, number>> = {}): void {
    this.#hasReported = true;
    const filesPending = this.#found.files - this.#done.files;
    const bytesPending = this.#found.bytes - this.#done.bytes;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const rate = this.#done.bytes / Math.max(seconds, 0.001);
    this.#context.progress.report({
      filesPending,
      bytesPending,
      lagSeconds: this.#waitingSeconds(),
      ...(rate > 0 ? { etaSeconds: Math.ceil(bytesPending / rate) } : {}),
      ...gauges,
    });
  }

  /** Time since the object that waits longest was found. They are kept in the order in which they were found. */
  #waitingSeconds(): number {
    const [oldest] = this.#onTheirWay.values();
    return oldest === undefined ? 0 : Math.round((performance.now() - oldest.foundAt) / 1000);
  }

  #add(sum: { files: number; bytes: number }, file: ObjectFile): void {
    sum.files += 1;
    sum.bytes += file.size;
  }

  #cursorKey(): `cursor:${string}` {
    return `cursor:${this.#context.replica.index}/${this.#context.replica.count}`;
  }
}

/** Whether the version that is there was given up; without one, whether any was. One that was gone has come back. */
export function isGivenUp(mark: FileMark | undefined, etag: string | undefined): boolean {
  if (mark?.result === "gone") return etag === undefined;
  return mark?.result === "failed" && (etag === undefined || etag === mark.etag);
}

export function marksOf(files: readonly ObjectFile[], result: FileMark["result"]): ObjectDurable["marks"] {
  const markOf = ({ etag, again }: ObjectFile) => ({ etag, result, ...(again === undefined ? {} : { again }) });
  return marks(...files.map((file) => [fileMark(file.key), markOf(file)] as const));
}

function sortByKey(files: readonly ObjectFile[]): ObjectFile[] {
  return [...files].sort((a, b) => compareKeys(a.key, b.key));
}

function digestOf(files: readonly ObjectFile[]): string {
  return createHash("sha256")
    .update(JSON.stringify(files.map(({ key, etag }) => [key, etag])))
    .digest("base64");
}
