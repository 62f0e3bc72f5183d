/**
 * An inbox as batches. It is one lane; a batch is a range of its offsets, so that a replay reads exactly those rows
 * again. The control plane says when there is enough to load, and deletes what is loaded.
 */
import { abortable } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import type { InboxAccess } from "../contract/inbox-access.ts";
import type {
  Insert,
  InsertFailure,
  RejectedRecord,
  Source,
  Batch as SourceBatch,
  SourceContext,
} from "../contract/source.ts";
import { inboxLane, type PushDurable, type RowRange } from "./declaration/durable.ts";

type Batch = SourceBatch<PushDurable>;

/** The content of a range of offsets. */
export type Made = {
  readonly range: RowRange;
  /** Offsets that the inbox no longer has. */
  readonly missing: number;
  readonly inserts: readonly Insert[];
  readonly rejected: readonly RejectedRecord[];
  readonly skippedRows: number;
  readonly fetchedBytes: number;
};

/** What differs between formats. The same range is always made the same. */
export interface BatchMaker {
  /** From an offset on, as much as makes one batch. */
  collect(first: number, end: number): Promise<Made>;
  rebuild(range: RowRange): Promise<Made>;
  /** The ranges instead of one that the engine refused; none stop the pipe. */
  refused(made: Made, failure: InsertFailure): Promise<readonly RowRange[]>;
  /** It is durable, and nothing will read it again. */
  release(made: Made): void;
}

export type PushSourceParts = {
  readonly context: Pick<SourceContext<PushDurable>, "replica" | "progress">;
  readonly inbox: Pick<InboxAccess, "news" | "loaded">;
  readonly maker: BatchMaker;
};

export class PushSource implements Source<PushDurable> {
  readonly #parts: PushSourceParts;
  readonly #made = new WeakMap<Batch, Made>();

  constructor(parts: PushSourceParts) {
    this.#parts = parts;
  }

  async *read(checkpoints: ReadonlyMap<string, number>, signal: AbortSignal): AsyncIterable<Batch> {
    const { context, inbox, maker } = this.#parts;
    const { index, count } = context.replica;
    if (assignedWorker(inboxLane, count) !== index) return await abortable(new Promise<never>(() => {}), signal);
    let next = checkpoints.get(inboxLane) ?? 0;
    await inbox.loaded(next);
    while (!signal.aborted) {
      const end = await abortable(inbox.news(next), signal);
      context.progress.answered();
      while (next < end && !signal.aborted) {
        const batch = this.#batch(await maker.collect(next, end));
        yield batch;
        next = batch.replay.last + 1;
      }
    }
  }

  async replay(saved: RowRange): Promise<Batch> {
    return this.#batch(await this.#parts.maker.rebuild(saved));
  }

  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const made = this.#made.get(batch);
    if (made === undefined) return [];
    const batches: Batch[] = [];
    for (const range of await this.#parts.maker.refused(made, failure)) batches.push(await this.replay(range));
    return batches;
  }

  async acknowledge(batch: Batch): Promise<void> {
    const made = this.#made.get(batch);
    if (made !== undefined) this.#parts.maker.release(made);
    await this.#parts.inbox.loaded(batch.replay.last + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #batch(made: Made): Batch {
    const { range, missing, inserts, rejected, skippedRows, fetchedBytes } = made;
    const { first, last, attempt = 0 } = range;
    const original = `${first}-${last}`;
    const gap = { origin: inboxLane, position: original, message: lost(missing), rows: 0 };
    const batch: Batch = {
      lane: inboxLane,
      id: attempt === 0 ? original : `${original}~${attempt}`,
      ...(attempt === 0 ? {} : { continues: original }),
      replay: range,
      checkpoint: last + 1,
      inserts,
      rejected: missing > 0 ? [...rejected, gap] : rejected,
      skippedRows,
      counts: { fetchedBytes },
    };
    this.#made.set(batch, made);
    return batch;
  }
}

function lost(rows: number): string {
  return `The inbox no longer has ${rows} of these rows: files of the data directory are missing or damaged.`;
}
