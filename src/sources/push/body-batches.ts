/** Batches of whole bodies, of which only the engine knows the rows: one body is one batch. */
import { Readable } from "node:stream";
import type { InsertFailure, RejectedRecord } from "../contract/source.ts";
import { shortMessage } from "../messages/engine-message.ts";
import type { SourceMessage } from "../messages/message.ts";
import { keptPayload } from "../messages/message-batch.ts";
import type { RowPlan } from "../messages/plan.ts";
import { refusedOf } from "../messages/refusals.ts";
import { inboxLane, type RowRange } from "./declaration/durable.ts";
import type { Frame } from "./inbox/frames.ts";
import type { InboxReader } from "./reader.ts";
import type { BatchMaker, Made } from "./source.ts";

/** Bytes of a refused body that the error table shows. */
const shownBytes = 1_000;

export class BodyBatches implements BatchMaker {
  readonly #reader: InboxReader;
  readonly #plan: RowPlan<SourceMessage>;

  constructor(reader: InboxReader, plan: RowPlan<SourceMessage>) {
    this.#reader = reader;
    this.#plan = plan;
  }

  async collect(first: number): Promise<Made> {
    return await this.rebuild({ first, last: first });
  }

  async rebuild(range: RowRange): Promise<Made> {
    for await (const frame of this.#reader.frames(range.first, range.last + 1)) {
      return await this.#made(range, frame);
    }
    return { range, missing: 1, inserts: [], rejected: [], skippedRows: 0, fetchedBytes: 0 };
  }

  async refused({ range }: Made, failure: InsertFailure): Promise<readonly RowRange[]> {
    if (failure.kind !== "data" || range.refused !== undefined) return [];
    const refused = { [shortMessage(failure.message)]: [range.first] };
    return [{ ...range, refused, attempt: (range.attempt ?? 0) + 1 }];
  }

  release(): void {}

  async #made(range: RowRange, frame: Frame): Promise<Made> {
    const { sql, settings } = this.#plan;
    const bytes = frame.facts.s ?? frame.body.length;
    const body = () => (frame.facts.x === undefined ? frame.body : Readable.from(this.#reader.piecesOf(frame)));
    const reason = refusedOf(range.refused).get(range.first);
    const rejected = reason === undefined ? [] : [await this.#rejected(frame, reason, bytes)];
    const inserts = reason === undefined ? [{ sql, settings, body }] : [];
    return { range, missing: 0, inserts, rejected, skippedRows: 0, fetchedBytes: bytes };
  }

  async #rejected(frame: Frame, message: string, size: number): Promise<RejectedRecord> {
    let start: Buffer = Buffer.alloc(0);
    for await (const piece of this.#reader.piecesOf(frame)) {
      start = piece.subarray(0, shownBytes);
      break;
    }
    const shown = keptPayload(start, start.length === size);
    return { origin: inboxLane, position: String(frame.facts.o), message, size, ...shown };
  }
}
