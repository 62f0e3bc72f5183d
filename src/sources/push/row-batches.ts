/** Batches of rows: as many as fit, whichever requests they came with. */

import type { InsertFailure, Query } from "../contract/source.ts";
import { factsOf } from "../messages/facts.ts";
import type { RowEncoder } from "../messages/formats/encoder.ts";
import type { BatchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { byReason, decideRefusal, type Refused, refusedOf } from "../messages/refusals.ts";
import { rowPool } from "../messages/row-memory.ts";
import { inboxLane, type RowRange } from "./declaration/durable.ts";
import { type PushMessage, pushVirtualColumns } from "./message.ts";
import type { InboxReader } from "./reader.ts";
import type { BatchMaker, Made } from "./source.ts";

export type RowBatchesParts = {
  readonly reader: InboxReader;
  readonly encoder: RowEncoder<PushMessage>;
  readonly limits: Pick<BatchLimits, "maxRows" | "maxBytes">;
  readonly query: Query;
};

export class RowBatches implements BatchMaker {
  readonly #parts: RowBatchesParts;
  /** Rows of the batches in progress, which are searched when one is refused. */
  readonly #messages = new WeakMap<Made, MessageBatch<PushMessage>>();

  constructor(parts: RowBatchesParts) {
    this.#parts = parts;
  }

  async collect(first: number, end: number): Promise<Made> {
    const { reader, limits } = this.#parts;
    const messages = this.#newBatch();
    await reader.each(first, end, (message) => {
      if (messages.size >= limits.maxRows || messages.bytes >= limits.maxBytes) return false;
      messages.add(message);
      return true;
    });
    // What cannot be read any more must not hold up what comes after it.
    const last = messages.last === undefined ? end - 1 : Number(messages.last);
    return this.#made({ first, last }, messages);
  }

  async rebuild(range: RowRange): Promise<Made> {
    const messages = this.#newBatch(refusedOf(range.refused));
    await this.#parts.reader.each(range.first, range.last + 1, (message) => {
      messages.add(message);
      return true;
    });
    return this.#made(range, messages);
  }

  async refused(made: Made, failure: InsertFailure): Promise<readonly RowRange[]> {
    const messages = this.#messages.get(made);
    if (messages === undefined) return [];
    const { attempt, ...range } = made.range;
    const { encoder, query } = this.#parts;
    const answer = await decideRefusal(messages, encoder.plan, refusedOf(range.refused), failure, query);
    if (answer.kind === "stop") return [];
    if (answer.kind === "without") {
      return [{ ...range, refused: byReason(answer.refused), attempt: (attempt ?? 0) + 1 }];
    }
    const middle = Number(answer.lastOfFirst);
    return [
      { ...range, last: middle },
      { ...range, first: middle + 1 },
    ];
  }

  release(made: Made): void {
    this.#messages.get(made)?.release();
  }

  #made(range: RowRange, messages: MessageBatch<PushMessage>): Made {
    const { rejected, skippedRows, payloadBytes } = messages;
    const missing = range.last - range.first + 1 - messages.messages;
    const content = { rejected, skippedRows, fetchedBytes: payloadBytes };
    const made = { range, missing, inserts: messages.inserts(), ...content };
    this.#messages.set(made, messages);
    return made;
  }

  #newBatch(refused: Refused = new Map()): MessageBatch<PushMessage> {
    const { encoder, limits } = this.#parts;
    const facts = (message: PushMessage) => factsOf(pushVirtualColumns, message);
    const common = { encoder, origin: inboxLane, refused, factsOf: facts, memory: rowPool };
    return new MessageBatch({ ...common, maxMessageBytes: limits.maxBytes });
  }
}
