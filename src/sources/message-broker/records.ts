/**
 * Record batches (format 2) as they come from a broker, walked without an object per record. Batches of aborted
 * transactions and control batches are passed over; the position moves on behind them all the same.
 */
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { AppError } from "../../lib/errors.ts";
import type { Message } from "../messages/message.ts";
import { PieceReader, type Scratch } from "./pieces.ts";

/** A record as a view; the same object is filled again for the next one. */
export type KafkaMessage = Message & {
  position: number;
  topic: string;
  partition: number;
  /** Milliseconds since 1970. */
  timestamp: number;
  /** `bytes[keyStart, keyEnd)`; `keyEnd` below `keyStart` means none. */
  keyStart: number;
  keyEnd: number;
  /** Where the headers begin; read with `headersOf`. */
  headersAt: number;
};

export type AbortedTransaction = { readonly producerId: bigint; readonly firstOffset: number };

/** Decompresses blocks that the runtime does not know. */
export type Decompress = { snappy(data: Buffer): Buffer; lz4(data: Buffer): Buffer };

/** What a batch may unpack to: a bomb must not take the process. */
const maxBatchBytes = 512 * 2 ** 20;
const headerBytes = 61;
/** Of the length in front of a record. */
const maxLengthBytes = 5;

export function emptyMessage(topic: string, partition: number): KafkaMessage {
  const empty = Buffer.alloc(0);
  const bounds = { start: 0, end: -1, keyStart: 0, keyEnd: -1, headersAt: 0 };
  return { ...bounds, bytes: empty, position: 0, topic, partition, timestamp: 0 };
}

/** With scratch memory, what a message refers to holds until the next one is read. */
export class RecordCursor {
  readonly #data: PieceReader;
  readonly #decompress: Decompress;
  readonly #aborted: AbortedTransaction[];
  readonly #abortedProducers = new Set<bigint>();
  /** Offset behind everything walked. */
  next: number;
  #records: Buffer = Buffer.alloc(0);
  #recordAt = 0;
  #left = 0;
  /** The records lie across pieces: `#records` holds some of them, or one that was put together. */
  #isSplit = false;
  /** Bytes of the batch from where `#data` is; a view in `#records` is part of them. */
  #bodyLeft = 0;
  #isView = false;
  #batch = { base: 0, end: 0, timestamp: 0, appendTime: false };

  constructor(
    data: readonly Buffer[],
    from: number,
    aborted: readonly AbortedTransaction[],
    decompress: Decompress,
    scratch?: Scratch,
  ) {
    this.#data = new PieceReader(data, scratch);
    this.#decompress = decompress;
    this.#aborted = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
    this.next = from;
  }

  /** Fills the message with the next record at or behind `next`; false at the end of the data. */
  read(message: KafkaMessage): boolean {
    for (;;) {
      while (this.#left === 0) {
        if (!this.#nextBatch()) return false;
      }
      this.#left -= 1;
      this.#readRecord(message);
      const wanted = message.position >= this.next;
      if (wanted) this.next = message.position + 1;
      // Behind the last record there may be offsets that compaction has emptied.
      if (this.#left === 0) this.next = Math.max(this.next, this.#batch.end);
      if (wanted) return true;
    }
  }

  /** Opens the next batch with records to read; false when no complete one is left. */
  #nextBatch(): boolean {
    this.#data.skip(this.#bodyLeft);
    this.#bodyLeft = 0;
    if (this.#data.left < headerBytes) return false;
    const size = batchBytes(this.#data);
    if (size < headerBytes) throw brokenOff();
    if (this.#data.left < size) return false;
    if (this.#data.peek(16) !== 2) {
      throw new AppError("SOURCE_INVALID", "The broker sends records in a format older than version 2.");
    }
    const head = this.#data.read(headerBytes);
    const attributes = head.readInt16BE(21);
    const base = Number(head.readBigInt64BE(0));
    const last = base + head.readInt32BE(23);
    const appendTime = (attributes & 0x08) !== 0;
    const timestamp = Number(head.readBigInt64BE(appendTime ? 35 : 27));
    const producer = head.readBigInt64BE(43);
    const records = head.readInt32BE(57);
    this.#bodyLeft = size - headerBytes;
    while (this.#aborted[0] !== undefined && this.#aborted[0].firstOffset <= last) {
      this.#abortedProducers.add((this.#aborted.shift() as AbortedTransaction).producerId);
    }
    const isControl = (attributes & 0x20) !== 0;
    if (isControl && isAbortMarker(this.#body())) this.#abortedProducers.delete(producer);
    const isAborted = (attributes & 0x10) !== 0 && this.#abortedProducers.has(producer);
    if (last < this.next || isControl || isAborted) {
      this.next = Math.max(this.next, last + 1);
      return true;
    }
    this.#batch = { base, end: last + 1, timestamp, appendTime };
    const codec = attributes & 0x07;
    this.#isSplit = codec === 0 && this.#data.view(this.#bodyLeft).length < this.#bodyLeft;
    this.#isView = this.#isSplit;
    this.#records = this.#isSplit ? this.#data.view(this.#bodyLeft) : this.#unpacked(codec, this.#body());
    this.#recordAt = 0;
    this.#left = records;
    if (this.#left === 0) this.next = Math.max(this.next, last + 1);
    return true;
  }

  /** The rest of the batch in one piece. */
  #body(): Buffer {
    const body = this.#data.read(this.#bodyLeft);
    this.#bodyLeft = 0;
    return body;
  }

  /** Whether the next record ends within `#records`. */
  #isWhole(): boolean {
    if (this.#records.length - this.#recordAt < maxLengthBytes) return false;
    varint.at = this.#recordAt;
    const length = readVarint(this.#records);
    return varint.at + length <= this.#records.length;
  }

  /** Makes `#records` begin with the next record, all of it. */
  #moveOn(): void {
    if (this.#isView) {
      this.#data.skip(this.#recordAt);
      this.#bodyLeft -= this.#recordAt;
    }
    if (this.#bodyLeft === 0) throw brokenOff();
    this.#records = this.#data.view(this.#bodyLeft);
    this.#recordAt = 0;
    this.#isView = true;
    if (this.#records.length === this.#bodyLeft || this.#isWhole()) return;
    const size = recordBytes(this.#data, this.#bodyLeft);
    this.#records = this.#data.read(size);
    this.#bodyLeft -= size;
    this.#isView = false;
  }

  #unpacked(codec: number, body: Buffer): Buffer {
    if (codec === 0) return body;
    if (codec === 1) return gunzipSync(body, { maxOutputLength: maxBatchBytes });
    if (codec === 2) return this.#decompress.snappy(body);
    if (codec === 3) return this.#decompress.lz4(body);
    if (codec === 4) return zstdDecompressSync(body, { maxOutputLength: maxBatchBytes });
    throw new AppError("SOURCE_INVALID", `The broker sends records with an unknown compression (${codec}).`);
  }

  #readRecord(message: KafkaMessage): void {
    if (this.#isSplit && !this.#isWhole()) this.#moveOn();
    const bytes = this.#records;
    varint.at = this.#recordAt;
    const length = readVarint(bytes);
    const end = varint.at + length;
    varint.at += 1;
    const timestampDelta = readVarint(bytes);
    const offsetDelta = readVarint(bytes);
    const keyLength = readVarint(bytes);
    message.keyStart = varint.at;
    message.keyEnd = varint.at + keyLength;
    if (keyLength > 0) varint.at += keyLength;
    const valueLength = readVarint(bytes);
    message.start = varint.at;
    message.end = varint.at + valueLength;
    if (valueLength > 0) varint.at += valueLength;
    message.headersAt = varint.at;
    message.bytes = bytes;
    message.position = this.#batch.base + offsetDelta;
    message.timestamp = this.#batch.timestamp + (this.#batch.appendTime ? 0 : timestampDelta);
    this.#recordAt = end;
    if (end > bytes.length) throw brokenOff();
  }
}

function brokenOff(): AppError {
  return new AppError("SOURCE_INVALID", "The broker sends records that break off.");
}

/** Bytes of the batch that comes next. */
function batchBytes(data: PieceReader): number {
  return 12 + ((data.peek(8) << 24) | (data.peek(9) << 16) | (data.peek(10) << 8) | data.peek(11));
}

/** Bytes of the record that comes next, with its length in front. */
function recordBytes(data: PieceReader, left: number): number {
  const front = Buffer.from(Array.from({ length: Math.min(maxLengthBytes, left) }, (_, at) => data.peek(at)));
  varint.at = 0;
  const size = readVarint(front) + varint.at;
  if (!(size > 0 && size <= left)) throw brokenOff();
  return size;
}

/** Names and values in order. */
export function headersOf(message: KafkaMessage): { name: Buffer; value: Buffer }[] {
  varint.at = message.headersAt;
  const count = readVarint(message.bytes);
  return Array.from({ length: count }, () => ({ name: readBytes(message.bytes), value: readBytes(message.bytes) }));
}

/** The reader's place: a plain variable is much faster than an object per number. */
const varint = { at: 0 };

function readBytes(bytes: Buffer): Buffer {
  const length = readVarint(bytes);
  const part = bytes.subarray(varint.at, varint.at + Math.max(0, length));
  varint.at += part.length;
  return part;
}

/** Zigzag and variable length; exact up to 2^53. */
function readVarint(bytes: Buffer): number {
  let byte = bytes[varint.at] as number;
  varint.at += 1;
  if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
  let value = byte & 0x7f;
  let factor = 128;
  do {
    byte = bytes[varint.at] as number;
    varint.at += 1;
    value += (byte & 0x7f) * factor;
    factor *= 128;
  } while (byte >= 0x80);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** The key of a control record: version and type, of which 0 means aborted. */
function isAbortMarker(body: Buffer): boolean {
  varint.at = 0;
  readVarint(body);
  varint.at += 1;
  readVarint(body);
  readVarint(body);
  const keyLength = readVarint(body);
  return keyLength >= 4 && body.readInt16BE(varint.at + 2) === 0;
}
