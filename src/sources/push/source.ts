/**
 * An inbox as batches. It is one lane; a batch is a range of its offsets, so that a replay reads exactly those rows
 * again. The control plane says when there is enough to load, and deletes what is loaded.
 */
import { abortable } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import type { InboxAccess } from "../inbox-access.ts";
import { factsOf } from "../messages/facts.ts";
import type { RowEncoder } from "../messages/formats/encoder.ts";
import type { BatchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { byReason, decideRefusal, type Refused, refusedOf } from "../messages/refusals.ts";
import { rowPool } from "../messages/row-memory.ts";
import type { InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../source.ts";
import { inboxLane, type PushDurable, type RowRange } from "./durable.ts";
import { type PushMessage, pushVirtualColumns } from "./message.ts";
import type { InboxReader } from "./reader.ts";

type Batch = SourceBatch<PushDurable>;

export type PushSourceParts = {
  readonly context: SourceContext<PushDurable>;
  readonly inbox: InboxAccess;
  readonly reader: InboxReader;
  readonly encoder: RowEncoder<PushMessage>;
  readonly limits: Pick<BatchLimits, "maxRows" | "maxBytes">;
};

export class PushSource implements Source<PushDurable> {
  readonly #parts: PushSourceParts;
  /** Rows of the batches in progress, which are searched when one is refused. */
  readonly #messages = new WeakMap<Batch, MessageBatch<PushMessage>>();

  constructor(parts: PushSourceParts) {
    this.#parts = parts;
  }

  async *read(checkpoints: ReadonlyMap<string, number>, signal: AbortSignal): AsyncIterable<Batch> {
    const { context, inbox } = this.#parts;
    const { index, count } = context.replica;
    if (assignedWorker(inboxLane, count) !== index) return await abortable(new Promise<never>(() => {}), signal);
    let next = checkpoints.get(inboxLane) ?? 0;
    await inbox.loaded(next);
    while (!signal.aborted) {
      const end = await abortable(inbox.news(next), signal);
      context.progress.answered();
      while (next < end && !signal.aborted) {
        const batch = await this.#collect(next, end);
        yield batch;
        next = batch.replay.last + 1;
      }
    }
  }

  async replay(saved: RowRange): Promise<Batch> {
    return await this.#rebuild(saved);
  }

  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const messages = this.#messages.get(batch);
    if (messages === undefined) return [];
    const { encoder, context } = this.#parts;
    const { attempt, ...range } = batch.replay;
    const before = refusedOf(range.refused);
    const answer = await decideRefusal(messages, encoder.plan, before, failure, context.destination.query);
    if (answer.kind === "stop") return [];
    if (answer.kind === "without") {
      const refused = byReason(answer.refused);
      return [await this.#rebuild({ ...range, refused, attempt: (attempt ?? 0) + 1 })];
    }
    const middle = Number(answer.lastOfFirst);
    return [await this.#rebuild({ ...range, last: middle }), await this.#rebuild({ ...range, first: middle + 1 })];
  }

  async acknowledge(batch: Batch): Promise<void> {
    this.#messages.get(batch)?.release();
    await this.#parts.inbox.loaded(batch.replay.last + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** As many rows from an offset on as make one batch. */
  async #collect(first: number, end: number): Promise<Batch> {
    const { reader, limits } = this.#parts;
    const messages = this.#newBatch();
    await reader.each(first, end, (message) => {
      if (messages.size >= limits.maxRows || messages.bytes >= limits.maxBytes) return false;
      messages.add(message);
      return true;
    });
    // What cannot be read any more must not hold up what comes after it.
    const last = messages.last === undefined ? end - 1 : Number(messages.last);
    return this.#batch({ first, last }, messages);
  }

  async #rebuild(saved: RowRange): Promise<Batch> {
    const messages = this.#newBatch(refusedOf(saved.refused));
    await this.#parts.reader.each(saved.first, saved.last + 1, (message) => {
      messages.add(message);
      return true;
    });
    return this.#batch(saved, messages);
  }

  #batch(saved: RowRange, messages: MessageBatch<PushMessage>): Batch {
    const { first, last, attempt = 0 } = saved;
    const missing = last - first + 1 - messages.messages;
    if (missing > 0) {
      messages.rejected.push({ origin: inboxLane, position: `${first}-${last}`, message: lost(missing), rows: 0 });
    }
    const original = `${first}-${last}`;
    const batch: Batch = {
      lane: inboxLane,
      id: attempt === 0 ? original : `${original}~${attempt}`,
      ...(attempt === 0 ? {} : { continues: original }),
      replay: saved,
      checkpoint: last + 1,
      inserts: messages.inserts(),
      rejected: messages.rejected,
      skippedRows: messages.skippedRows,
      counts: { fetchedBytes: messages.payloadBytes },
    };
    this.#messages.set(batch, messages);
    return batch;
  }

  #newBatch(refused: Refused = new Map()): MessageBatch<PushMessage> {
    const { encoder, limits } = this.#parts;
    const facts = (message: PushMessage) => factsOf(pushVirtualColumns, message);
    const common = { encoder, origin: inboxLane, refused, factsOf: facts, memory: rowPool };
    return new MessageBatch({ ...common, maxMessageBytes: limits.maxBytes });
  }
}

function lost(rows: number): string {
  return `The inbox no longer has ${rows} of these rows: files of the data directory are missing or damaged.`;
}
