/**
 * Objects as batches. Marks record what is done, one per object version, so that correctness depends neither on the
 * order of keys nor on that of events; cursors only save LIST calls.
 */
import { availableParallelism } from "node:os";
import { sleep } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import { AppError } from "../../lib/errors.ts";
import { prefetch } from "../../lib/prefetch.ts";
import { pause } from "../../lib/ticks.ts";
import { requireTable } from "../contract/destination.ts";
import type { InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../contract/source.ts";
import { shortMessage } from "../messages/engine-message.ts";
import type { ObjectDurable, Pack, RejectedObjectRow } from "./declaration/durable.ts";
import type { ObjectStorageConfig } from "./declaration/kind.ts";
import { Deliveries } from "./queue/deliveries.ts";
import type { NotificationQueue, Notified } from "./queue/queue.ts";
import { CrashProbe } from "./reading/crash-probe.ts";
import { inferFormat, type ObjectFormat } from "./reading/formats.ts";
import { ObjectBridge } from "./reading/object-bridge.ts";
import { changedMarker, ObjectStatements } from "./reading/reading.ts";
import { findBadRows } from "./reading/rejects.ts";
import { type KeyPattern, keyPattern } from "./selection/glob.ts";
import { Packer, type PackLimits, packId, partsOf, whyGivenUp } from "./selection/packing.ts";
import { type ListedPage, withNext } from "./selection/runs.ts";
import { isGivenUp, marksOf, Tracker } from "./selection/tracker.ts";
import { bytesOf, type ObjectFile, type ObjectStore } from "./stores/store.ts";

type Batch = SourceBatch<ObjectDurable>;
/** Pages of a listing that are read before their files are loaded, so that the progress gauge knows the total. */
const pagesAhead = 100;
const strangeMessage =
  "The queue has a message of another form than those of S3, SNS and EventBridge: it is left there, and nothing is loaded for it.";
const deletedMessage = "The object was deleted before it was loaded.";
const unknownFormat = "The format cannot be told from the suffix of the key; set `format`.";
/** It refuses such a path, or reads the object that has a single `/` in its place. */
const doubleSlash = "The engine cannot read an object whose key has `//` or begins with `/`.";

/** What a listing has found: its last key, or the one before it; and whether one call was enough. */
type Listed = { readonly last: string | undefined; readonly isOnePage: boolean };
/** Where the next look at old keys begins, and whether no key follows this one. */
type Swept = { readonly next: string | undefined; readonly isLast: boolean };

export type ObjectSourceParts = {
  readonly config: ObjectStorageConfig;
  readonly context: SourceContext<ObjectDurable>;
  readonly store: ObjectStore;
  readonly pattern: string;
  readonly queue?: NotificationQueue | undefined;
};

export class ObjectSource implements Source<ObjectDurable> {
  readonly #config: ObjectStorageConfig;
  readonly #context: SourceContext<ObjectDurable>;
  readonly #store: ObjectStore;
  readonly #pattern: KeyPattern;
  readonly #urlFormat: ObjectFormat | undefined;
  readonly #bridge: ObjectBridge;
  readonly #reading: ObjectStatements;
  readonly #probe: CrashProbe;
  readonly #tracker: Tracker;
  readonly #queue: NotificationQueue | undefined;
  readonly #deliveries: Deliveries | undefined;
  /** Batches of one object that were begun once more after an outage of the store. */
  readonly #retried = new Set<string>();

  constructor(parts: ObjectSourceParts) {
    this.#config = parts.config;
    this.#context = parts.context;
    this.#store = parts.store;
    this.#pattern = keyPattern(parts.pattern);
    this.#urlFormat = parts.config.format ?? inferFormat(parts.pattern);
    this.#bridge = new ObjectBridge(parts.store, parts.context.network);
    this.#reading = new ObjectStatements(
      parts.store,
      this.#bridge,
      parts.config,
      requireTable(parts.context.destination.target),
      parts.context.settings.database_lenient_values === true,
    );
    this.#probe = new CrashProbe(this.#reading, parts.context.destination);
    this.#tracker = new Tracker(parts.context);
    this.#queue = parts.queue;
    this.#deliveries = parts.queue && new Deliveries(parts.queue);
  }

  /** Other objects may have come meanwhile: nothing is listed. */
  async replay({ folder: _, ...pack }: Pack, signal: AbortSignal): Promise<Batch> {
    this.#tracker.take(pack.files);
    return await this.#batch(pack, signal);
  }

  async *read(_checkpoints: ReadonlyMap<string, unknown>, signal: AbortSignal): AsyncIterable<Batch> {
    this.#tracker.forget();
    this.#deliveries?.forget();
    const from = (await this.#tracker.cursor()) ?? this.#config.startAfter;
    const isIdle = this.#queue !== undefined && this.#context.replica.index > 0;
    if (!isIdle) yield* this.#readAgain(signal);
    if (this.#queue !== undefined && this.#deliveries !== undefined) {
      // One replica for all: an object can be listed and notified at the same time, and its notification repeated.
      while (isIdle && !signal.aborted) await sleep(3_600_000, signal);
      if (isIdle) return;
      if (this.#config.skipInitialLoad !== true) yield* this.#readFrom(from, signal);
      return yield* this.#readQueue(this.#queue, this.#deliveries, signal);
    }
    const first = yield* this.#readFrom(from, signal);
    if (this.#config.isContinuous === true) yield* this.#poll(first, from === this.#config.startAfter, signal);
  }

  /** `isAll`: the listing began at the first key. */
  async *#poll({ last, isOnePage }: Listed, isAll: boolean, signal: AbortSignal): AsyncGenerator<Batch> {
    const start = this.#config.startAfter;
    let tail = last;
    let sweep: string | undefined;
    // One call then finds new objects and those that arrive late with a smaller key.
    let fitsOnePage = isAll && isOnePage;
    while (!signal.aborted) {
      await pause(Number(this.#context.settings.object_storage_polling_interval_ms), signal);
      if (signal.aborted) return;
      const before = tail;
      const read: Listed = yield* this.#readFrom(fitsOnePage ? start : tail, signal, tail);
      tail = read.last;
      if (fitsOnePage) fitsOnePage = read.isOnePage;
      else if (before !== undefined) {
        const swept: Swept = yield* this.#sweepPage(sweep, before, signal);
        fitsOnePage = sweep === undefined && swept.isLast;
        sweep = swept.next;
      }
    }
  }

  /**
   * The objects that were loaded, and that the user wants once more. They precede the cursor. When a look finds none
   * left, of no replica, the next start does not look again.
   */
  async *#readAgain(signal: AbortSignal): AsyncGenerator<Batch> {
    const prefixes = await this.#tracker.prefixesAgain();
    let isDone = prefixes.length > 0;
    for (const prefix of prefixes) {
      let isListed = false;
      for (let from: string | undefined, more = true; more && !signal.aborted; ) {
        const page = await this.#store.list(prefix, from, signal);
        this.#context.progress.answered();
        // Objects that are new have their turn in the order of keys.
        const { fresh } = await this.#tracker.news(page.files.filter((file) => this.#isWanted(file)));
        const left = fresh.filter(({ again }) => again !== undefined);
        isDone &&= left.length === 0;
        const files = left.filter((file) => this.#isMine(file));
        this.#tracker.take(files);
        yield* this.#batchesOf(files, signal);
        isListed ||= page.files.some(({ key }) => key === prefix);
        more = page.more;
        from = page.last ?? from;
      }
      const gone = isListed || signal.aborted ? undefined : await this.#tracker.wantedAgain(prefix);
      isDone &&= gone === undefined;
      if (gone === undefined || !this.#isMine(gone)) continue;
      this.#tracker.take([gone]);
      yield await this.#giveUp(gone, "The object no longer exists, so that it was not loaded once more.", signal);
    }
    if (isDone && !signal.aborted) await this.#context.ledger.forget([], ["again"]);
  }

  /** All objects after the key. `tail` is the last key that was listed before. */
  async *#readFrom(after: string | undefined, signal: AbortSignal, tail = after): AsyncGenerator<Batch, Listed> {
    let last = tail;
    let pages = 0;
    for await (const { fresh, ...page } of prefetch(withNext(this.#pages(after, signal)), pagesAhead)) {
      yield* this.#batchesOf(fresh, signal, page);
      last = page.keys.at(-1) ?? last;
      pages += 1;
    }
    if (last !== undefined && last !== tail) await this.#tracker.moveCursor(last);
    return { last, isOnePage: pages === 1 };
  }

  async *#pages(after: string | undefined, signal: AbortSignal) {
    for (let from = after, more = true; more; ) {
      const started = performance.now();
      const page = await this.#store.list(this.#pattern.prefix, from, signal);
      this.#context.progress.answered();
      const { fresh, replaced } = await this.#tracker.news(this.#wanted(page.files));
      await this.#tracker.skip(replaced, this.#store);
      this.#tracker.take(fresh);
      this.#tracker.listed(Math.round(performance.now() - started));
      yield { fresh, keys: page.files.map((file) => file.key), after: from };
      more = page.more;
      from = page.last ?? from;
    }
  }

  /**
   * One page of the keys that were passed long ago, advancing with every poll: finds objects that arrived late with a
   * smaller key, at the constant cost of one LIST call.
   */
  async *#sweepPage(from: string | undefined, end: string, signal: AbortSignal): AsyncGenerator<Batch, Swept> {
    const page = await this.#store.list(this.#pattern.prefix, from ?? this.#config.startAfter, signal);
    const { fresh, replaced } = await this.#tracker.news(this.#wanted(page.files));
    await this.#tracker.skip(replaced, this.#store);
    this.#tracker.take(fresh);
    yield* this.#batchesOf(fresh, signal);
    const passedEnd = page.last === undefined || Buffer.compare(Buffer.from(page.last), Buffer.from(end)) >= 0;
    return { next: page.more && !passedEnd ? page.last : undefined, isLast: !page.more };
  }

  async *#batchesOf(files: readonly ObjectFile[], signal: AbortSignal, page?: ListedPage): AsyncGenerator<Batch> {
    const limits = {
      maxBytes: Number(this.#context.settings.object_storage_max_insert_bytes),
      maxFiles: Number(this.#context.settings.object_storage_max_file_count),
      threads: this.#threads(files.length),
    };
    const packer = new Packer({ ...limits, ...(page === undefined ? {} : { page }) }, this.#config.compression);
    for (const file of files) {
      const format = this.#urlFormat ?? inferFormat(file.key);
      const isReadable = !this.#store.pathOf(file.key).includes("//");
      if (format === undefined || !isReadable) {
        yield await this.#giveUp(file, isReadable ? unknownFormat : doubleSlash, signal);
        continue;
      }
      for (const pack of packer.add(file, format)) yield await this.#batch(pack, signal);
    }
    for (const pack of packer.flush()) yield await this.#batch(pack, signal);
  }

  async *#readQueue(queue: NotificationQueue, deliveries: Deliveries, signal: AbortSignal): AsyncGenerator<Batch> {
    const most = Number(this.#context.settings.object_storage_max_file_count);
    while (!signal.aborted) {
      const files = new Map<string, ObjectFile>();
      for (let wait = deliveries.next() === undefined; ; wait = false) {
        if (deliveries.next() === undefined) deliveries.expect(await queue.receive(wait, signal));
        if (deliveries.next() === undefined) break;
        for (let message = deliveries.next(); message !== undefined; message = deliveries.next()) {
          await this.#accept(message, deliveries, files, signal);
        }
        if (files.size >= most || signal.aborted) break;
      }
      this.#context.progress.answered();
      yield* this.#batchesOf([...files.values()], signal);
    }
  }

  /** Adds a message's objects to `files`, and holds the message until they are durable. */
  async #accept(
    message: Notified,
    deliveries: Deliveries,
    files: Map<string, ObjectFile>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#context.progress.warn("queue", message.understood ? undefined : strangeMessage);
    if (!message.understood) return deliveries.leave(message);
    const open: string[] = [];
    let failed = false;
    for (const { key, file } of message.objects.filter((object) => this.#pattern.matches(object.key))) {
      const mark = await this.#tracker.resultOf(key);
      // Only the store knows whether an object that was gone has come back.
      const version = (mark?.result === "gone" ? undefined : file) ?? (await this.stat(key, signal));
      // Already given up: the message is delivered again until the queue moves it to the dead letters.
      const givenUp = isGivenUp(mark, version?.etag);
      failed ||= givenUp;
      if (givenUp || version === undefined || version.size === 0) continue;
      const { fresh, replaced } = await this.#tracker.news([version]);
      await this.#tracker.skip(replaced, this.#store);
      this.#tracker.take(fresh);
      for (const taken of fresh) files.set(key, taken);
      if (this.#tracker.isOnItsWay(key)) open.push(key);
    }
    await deliveries.hold(message, open, failed);
  }

  /** The current object; undefined when it is gone. */
  async stat(key: string, signal: AbortSignal): Promise<ObjectFile | undefined> {
    const page = await this.#store.list(key, undefined, signal);
    return page.files.find((file) => file.key === key);
  }

  /** Concurrent statements share the cores; a single one may use all. */
  #threads(files: number): PackLimits["threads"] {
    const cores = Number(this.#context.settings.database_max_threads) || availableParallelism();
    const beside = Math.max(1, Math.floor(cores / Math.min(this.#context.concurrency, Math.max(1, files))));
    return { beside, alone: files > 1 ? beside : cores };
  }

  async refused(batch: Batch, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch[]> {
    if (failure.kind === "crash") return await this.#afterCrash(batch, signal);
    const pack = batch.replay;
    if (pack.files.length > 1) {
      return await Promise.all(partsOf(pack).map((part) => this.#batch(part, signal)));
    }
    const [file] = pack.files as readonly [ObjectFile];
    const now = await this.stat(file.key, signal);
    if (now === undefined) return [await this.#giveUp(file, deletedMessage, signal, [], file.again === undefined)];
    if (now.etag !== file.etag) {
      const changed = file.again === undefined ? now : { ...now, again: file.again };
      this.#tracker.take([changed]);
      const limits = { maxBytes: 0, maxFiles: 1, threads: this.#threads(1) };
      const [next] = new Packer(limits, this.#config.compression).add(changed, pack.format);
      return [await this.#batch(next ?? { ...pack, files: [changed] }, signal)];
    }
    const problem = this.#reading.problemOf(file);
    if (problem !== undefined) return [await this.#giveUp(file, problem, signal)];
    // The store answers now, and the attempts may have failed for an outage: they say nothing about the object.
    if (failure.kind === "source" && !this.#retried.delete(batch.id)) {
      this.#retried.add(batch.id);
      return [batch];
    }
    if (failure.message.includes(changedMarker)) {
      throw new AppError("SOURCE_UNREACHABLE", "The store shows different versions of one object in turn.");
    }
    const inspected = { ...pack, file, reading: this.#reading, query: this.#context.destination.query, signal };
    const isInspected = failure.kind === "data" && !pack.lenient;
    const findings = isInspected ? await findBadRows(inspected, failure) : undefined;
    if (findings?.readable !== true) {
      return [await this.#giveUp(file, shortMessage(failure.message), signal, findings?.rejected)];
    }
    return [await this.#batch({ ...pack, lenient: true, continues: batch.id, rejected: findings.rejected }, signal)];
  }

  /** Gives up the file that ends the engine. Several files are one block, which is written when all were read. */
  async #afterCrash(batch: Batch, signal: AbortSignal): Promise<readonly Batch[]> {
    const { folder: _, ...pack } = batch.replay;
    const culprit = await this.#probe.culprit(batch.id, pack, signal);
    if (culprit === undefined) return [batch];
    const files = pack.files.filter((file) => file !== culprit);
    const given = await this.#giveUp(culprit, "Reading this object ends or blocks the engine of the service.", signal);
    return files.length === 0 ? [given] : [given, await this.#batch({ ...pack, files }, signal)];
  }

  async acknowledge(batch: Batch): Promise<void> {
    const pack = batch.replay;
    this.#retried.delete(batch.id);
    this.#tracker.finish(pack.files.map((file) => file.key));
    if (this.#config.isContinuous === true) this.#context.progress.warn("objects", whyGivenUp(pack));
    for (const { key } of pack.files) await this.#deliveries?.settle(key, pack.givenUp === true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue?.close();
    this.#bridge.close();
    this.#store.close();
  }

  async #batch(pack: Pack, signal: AbortSignal): Promise<Batch> {
    const id = packId(pack);
    const continues = pack.continues === undefined ? {} : { continues: pack.continues };
    const common = { lane: id, id, replay: pack, rejected: pack.rejected ?? [], ...continues };
    if (pack.givenUp === true) {
      const counts = { filesFailed: pack.files.length };
      return { ...common, inserts: [], marks: marksOf(pack.files, pack.gone === true ? "gone" : "failed"), counts };
    }
    return {
      ...common,
      inserts: [
        {
          ...(await this.#reading.insert(pack.files, pack.format, pack, signal)),
          ...(pack.oneBlock ? { slow: this.#probe.slow(id, pack) } : {}),
          count: (counting) => this.#count(pack, counting),
        },
      ],
      marks: marksOf(pack.files, "loaded"),
      counts: { filesLoaded: pack.files.length, fetchedBytes: bytesOf(pack.files) },
    };
  }

  async #count(pack: Pack, signal: AbortSignal): Promise<number> {
    const { sql, ...options } = await this.#reading.countLoaded(pack.files, pack.format, pack, signal);
    const [counted] = await this.#context.destination.query(sql, options);
    return Number(counted?.rows);
  }

  /** A batch that loads nothing and records the reason. */
  async #giveUp(
    file: ObjectFile,
    message: string,
    signal: AbortSignal,
    rows: readonly RejectedObjectRow[] = [],
    gone = false,
  ): Promise<Batch> {
    const rejected = rows.length > 0 ? rows : [{ origin: this.#store.pathOf(file.key), message, rows: 0 }];
    const pack = { files: [file], format: "JSONEachRow" as const, oneBlock: true, lenient: false, threads: 1 };
    return await this.#batch({ ...pack, givenUp: true, rejected, ...(gone ? { gone } : {}) }, signal);
  }

  #wanted(files: readonly ObjectFile[]): ObjectFile[] {
    return files.filter((file) => this.#isWanted(file) && this.#isMine(file));
  }

  #isWanted({ key, size }: ObjectFile): boolean {
    return size > 0 && this.#pattern.matches(key);
  }

  #isMine({ key }: ObjectFile): boolean {
    const { index, count } = this.#context.replica;
    return assignedWorker(key, this.#queue === undefined ? count : 1) === index;
  }
}
