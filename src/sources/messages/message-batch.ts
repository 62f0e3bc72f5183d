/**
 * The messages of one lane that form one batch. A message becomes one row, or a rejected record, or nothing (a message
 * without a payload). The same messages added in the same order result in the same inserts.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject } from "../../lib/json.ts";
import type { Insert, RejectedRecord } from "../contract/source.ts";
import type { RowEncoder, RowGroup } from "./formats/encoder.ts";
import { hasPayload, type Position, type SourceMessage } from "./message.ts";
import type { RowMemory } from "./row-memory.ts";
import { MessageRowWriter } from "./row-writer.ts";

/** Rejected messages are kept whole, so that they can be replayed, up to this size and up to this sum of a batch. */
const wholeBytes = { message: 1_048_576, batch: 16_777_216 };
/** Bytes of other rejected messages that are kept: more for the first ones of a batch. */
const rawBytes = { first: 65_536, further: 1_000 };
const generous = 100;

export type Group = { readonly group: RowGroup; readonly rows: MessageRowWriter; readonly positions: Position[] };

export type MessageBatchOptions<M extends SourceMessage> = {
  readonly encoder: RowEncoder<M>;
  /** Names the lane in the error table. */
  readonly origin: string;
  readonly maxMessageBytes: number;
  /** Messages that the engine refused in an earlier attempt, with the reason. */
  readonly refused?: ReadonlyMap<Position, string>;
  /** Estimated bytes of the rows. */
  readonly expectedBytes?: number;
  readonly memory?: RowMemory;
  /** What a rejected message is built from again besides its payload; undefined when that is impossible. */
  readonly factsOf?: (message: M) => JsonObject | undefined;
};

/** Memory of a row besides its bytes: its offset and its position. */
const perRowBytes = 16;

export class MessageBatch<M extends SourceMessage> {
  readonly #options: MessageBatchOptions<M>;
  readonly #groups = new Map<string, Group>();
  readonly rejected: RejectedRecord[] = [];
  /** Messages added, including those without a row. */
  messages = 0;
  /** Messages without a payload: they are neither loaded nor refused. */
  skippedRows = 0;
  /** Payload bytes of the messages added. */
  payloadBytes = 0;
  first: Position | undefined;
  last: Position | undefined;
  /** Memory held, approximately. */
  bytes = 0;
  #rows = 0;
  #rejectedBytes = 0;
  /** The group of the previous message, which is usually that of the next. */
  #latest: Group | undefined;
  #readings = 0;

  constructor(options: MessageBatchOptions<M>) {
    this.#options = options;
  }

  /** Rows and rejected records, which determine whether the batch is full. */
  get size(): number {
    return this.#rows + this.rejected.length;
  }

  get groups(): readonly Group[] {
    return [...this.#groups.values()];
  }

  /** Adds a message whose encoder is prepared. */
  add(message: M): void {
    this.messages += 1;
    this.first ??= message.position;
    this.last = message.position;
    if (!hasPayload(message)) {
      this.skippedRows += 1;
      return;
    }
    this.payloadBytes += message.end - message.start;
    const problem = this.#addRow(message);
    if (problem !== undefined) this.#reject(message, problem);
  }

  /** Why the message has no row; undefined when it has one. */
  #addRow(message: M): string | undefined {
    const { encoder, maxMessageBytes, refused } = this.#options;
    const group = encoder.group(message);
    if (typeof group === "string") return group;
    // A refused message still opens its group: the order of the inserts must not change.
    const entry = this.#entry(group);
    const reason = refused?.get(message.position);
    if (reason !== undefined) return reason;
    const length = message.end - message.start;
    if (length > maxMessageBytes) {
      return `The message has ${length} bytes; the limit of this pipe is ${maxMessageBytes}.`;
    }
    const before = entry.rows.length;
    const problem = encoder.write(message, group, entry.rows);
    if (problem !== undefined) return problem;
    this.bytes += entry.rows.length - before + perRowBytes;
    entry.positions.push(message.position);
    this.#rows += 1;
    return undefined;
  }

  /** One per group, in order of its first message. Empty when no message has a row. */
  inserts(): Insert[] {
    if (this.#rows === 0) return [];
    const { sql, settings } = this.#options.encoder.plan;
    return this.groups.map(({ group, rows, positions }) => {
      const body = () => {
        this.#readings += 1;
        return contentOf(group, rows);
      };
      return { sql, settings, body, rows: positions.length };
    });
  }

  /** The batch is durable, and nothing will read it again. */
  release(): void {
    // After several sends, an abandoned attempt may still be reading the memory.
    if (this.#readings > this.#groups.size) return;
    for (const { rows } of this.#groups.values()) rows.release();
  }

  #entry(group: RowGroup): Group {
    if (this.#latest?.group === group) return this.#latest;
    let entry = this.#groups.get(group.key);
    if (entry === undefined) {
      const { expectedBytes, memory } = this.#options;
      const rows = new MessageRowWriter(this.#groups.size === 0 ? expectedBytes : 0, memory);
      entry = { group, rows, positions: [] };
      this.#groups.set(group.key, entry);
    }
    this.#latest = entry;
    return entry;
  }

  #reject(message: M, reason: string): void {
    const size = message.end - message.start;
    const isWhole = size <= wholeBytes.message && this.#rejectedBytes + size <= wholeBytes.batch;
    const most = this.rejected.length < generous ? rawBytes.first : rawBytes.further;
    const kept = isWhole ? size : Math.min(size, most);
    const { raw, format } = keptPayload(message.bytes.subarray(message.start, message.start + kept), kept === size);
    const facts = isWhole ? this.#options.factsOf?.(message) : undefined;
    this.#rejectedBytes += kept;
    this.bytes += raw.length;
    this.rejected.push({
      origin: this.#options.origin,
      position: String(message.position),
      message: reason,
      raw,
      format,
      size,
      ...(facts === undefined ? {} : { facts }),
    });
  }
}

export function contentOf(group: RowGroup, rows: MessageRowWriter): Buffer {
  return group.head.length === 0 ? rows.content() : Buffer.concat([group.head, rows.content()]);
}

type KeptPayload = { readonly raw: string; readonly format: "text" | "hex" };

/** Payload bytes as text for the error table: unchanged if they are text, otherwise `hex:` and digits. */
export function keptPayload(bytes: Buffer, isWhole: boolean): KeptPayload {
  // A cut may split a character; that alone does not make a text binary.
  for (let cut = 0; cut < (isWhole ? 1 : 4) && cut < bytes.length; cut += 1) {
    const text = bytes.subarray(0, bytes.length - cut);
    if (isUtf8(text)) return { raw: text.toString(), format: "text" };
  }
  return { raw: `hex:${bytes.toString("hex")}`, format: "hex" };
}
