/**
 * Reads record batches (format 2) of a broker without an object per record. Batches of aborted transactions and control
 * batches are skipped; the position still advances past them.
 */
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { crc32c } from "@node-rs/crc32";
import { AppError } from "../../../lib/errors.ts";
import type { SourceMessage } from "../../messages/message.ts";

/** A record as a view; the same object is reused for every record. */
export type KafkaMessage = SourceMessage & {
  position: number;
  topic: string;
  partition: number;
  /** Milliseconds since 1970. */
  timestamp: number;
  /** `bytes[keyStart, keyEnd)`; there is no key when `keyEnd` is below `keyStart`. */
  keyStart: number;
  keyEnd: number;
  /** `bytes[headersAt, headersEnd)` are the headers; read with `headersOf`. */
  headersAt: number;
  headersEnd: number;
};

export type AbortedTransaction = { readonly producerId: bigint; readonly firstOffset: number };

/** Decompresses formats that the runtime lacks. */
export type Decompress = { snappy(data: Buffer): Buffer; lz4(data: Buffer): Buffer };

/** Limit of a decompressed batch, so that a decompression bomb cannot end the process. */
export const maxBatchBytes = 512 * 2 ** 20;
const headerBytes = 61;
/** A record without key, value and headers: its attributes and five numbers, after its length. */
const leastRecordBytes = 6;

export function emptyMessage(topic: string, partition: number): KafkaMessage {
  const empty = Buffer.alloc(0);
  const bounds = { start: 0, end: -1, keyStart: 0, keyEnd: -1, headersAt: 0, headersEnd: 0 };
  return { ...bounds, bytes: empty, position: 0, topic, partition, timestamp: 0 };
}

/** Messages refer to the data, or to separate memory if it was compressed. */
export class RecordCursor {
  readonly #data: Buffer;
  #at = 0;
  readonly #decompress: Decompress;
  readonly #aborted: readonly AbortedTransaction[];
  #abortedAt = 0;
  readonly #abortedProducers = new Set<bigint>();
  /** Offset after everything read so far. */
  next: number;
  #records: Buffer = Buffer.alloc(0);
  #recordAt = 0;
  #left = 0;
  #batch = { base: 0, end: 0, timestamp: 0, appendTime: false };

  constructor(data: Buffer, from: number, aborted: readonly AbortedTransaction[], decompress: Decompress) {
    this.#data = data;
    this.#decompress = decompress;
    this.#aborted = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
    this.next = from;
  }

  /** Fills the message with the next record at or after `next`; false at the end of the data. */
  read(message: KafkaMessage): boolean {
    for (;;) {
      while (this.#left === 0) {
        if (!this.#nextBatch()) return false;
      }
      this.#left -= 1;
      this.#readRecord(message);
      const wanted = message.position >= this.next;
      if (wanted) this.next = message.position + 1;
      // After the last record there may be offsets that compaction has emptied.
      if (this.#left === 0) this.next = Math.max(this.next, this.#batch.end);
      if (wanted) return true;
    }
  }

  /** Opens the next batch with records to read; false when no complete batch is left. */
  #nextBatch(): boolean {
    const data = this.#data;
    const at = this.#at;
    const size = batchBytes(data, at);
    if (size === undefined) return false;
    this.#at += size;
    const attributes = data.readInt16BE(at + 21);
    const { base, last } = offsetsOf(data, at);
    const appendTime = (attributes & 0x08) !== 0;
    const timestamp = Number(data.readBigInt64BE(at + (appendTime ? 35 : 27)));
    const producer = data.readBigInt64BE(at + 43);
    const body = data.subarray(at + headerBytes, at + size);
    for (let next = this.#aborted[this.#abortedAt]; next !== undefined && next.firstOffset <= last; ) {
      this.#abortedProducers.add(next.producerId);
      this.#abortedAt += 1;
      next = this.#aborted[this.#abortedAt];
    }
    const isControl = (attributes & 0x20) !== 0;
    if (isControl && isAbortMarker(body)) this.#abortedProducers.delete(producer);
    const isAborted = (attributes & 0x10) !== 0 && this.#abortedProducers.has(producer);
    if (last < this.next || isControl || isAborted) {
      this.next = Math.max(this.next, last + 1);
      return true;
    }
    this.#batch = { base, end: last + 1, timestamp, appendTime };
    this.#records = unpacked(attributes & 0x07, body, this.#decompress);
    this.#recordAt = 0;
    this.#left = data.readInt32BE(at + 57);
    if (this.#left < 0) throw brokenOff();
    if (this.#left === 0) this.next = Math.max(this.next, last + 1);
    return true;
  }

  #readRecord(message: KafkaMessage): void {
    const bytes = this.#records;
    varint.at = this.#recordAt;
    const length = readVarint(bytes);
    const end = varint.at + length;
    if (length < leastRecordBytes || end > bytes.length) throw brokenOff();
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
    message.headersEnd = end;
    message.bytes = bytes;
    message.position = this.#batch.base + offsetDelta;
    const isInBatch = offsetDelta >= 0 && message.position < this.#batch.end;
    if (varint.at >= end || !isInBatch) throw brokenOff();
    message.timestamp = this.#batch.timestamp + (this.#batch.appendTime ? 0 : timestampDelta);
    this.#recordAt = end;
  }
}

function unpacked(codec: number, body: Buffer, { snappy, lz4 }: Decompress): Buffer {
  try {
    if (codec === 0) return body;
    if (codec === 1) return gunzipSync(body, { maxOutputLength: maxBatchBytes });
    if (codec === 2) return snappy(body);
    if (codec === 3) return lz4(body);
    if (codec === 4) return zstdDecompressSync(body, { maxOutputLength: maxBatchBytes });
  } catch (error) {
    throw new AppError("SOURCE_INVALID", "The broker sends records that cannot be decompressed.", { cause: error });
  }
  throw new AppError("SOURCE_INVALID", `The broker sends records with an unknown compression (${codec}).`);
}

function brokenOff(): AppError {
  return new AppError("SOURCE_INVALID", "The broker sends truncated records.");
}

/** Size of the batch that begins there; undefined when it is incomplete. */
function batchBytes(data: Buffer, at: number): number | undefined {
  if (data.length - at < headerBytes) return undefined;
  const size = 12 + data.readInt32BE(at + 8);
  if (size < headerBytes) throw brokenOff();
  if (data.length - at < size) return undefined;
  if (data[at + 16] !== 2) {
    throw new AppError("SOURCE_INVALID", "The broker sends records in a format older than version 2.");
  }
  return size;
}

/** Offsets of a batch's first and last record. Throws for offsets that no partition has. */
function offsetsOf(data: Buffer, at: number): { base: number; last: number } {
  const base = Number(data.readBigInt64BE(at));
  const last = base + data.readInt32BE(at + 23);
  if (base < 0 || last < base || last >= Number.MAX_SAFE_INTEGER) throw brokenOff();
  return { base, last };
}

/**
 * Offset of the first batch with a wrong checksum; undefined when all complete ones are correct. An older format is not
 * checked here: the cursor refuses it.
 */
export function damagedBatch(data: Buffer): number | undefined {
  for (let at = 0; data.length - at >= headerBytes && data[at + 16] === 2; ) {
    const size = 12 + data.readInt32BE(at + 8);
    if (size > data.length - at) return undefined;
    const isWhole = size >= headerBytes && crc32c(data.subarray(at + 21, at + size)) === data.readUInt32BE(at + 17);
    if (!isWhole) return Number(data.readBigInt64BE(at));
    at += size;
  }
  return undefined;
}

/** The offset after the complete batches, according to their heads; a cursor reaches the same offset. */
export function offsetBehind(data: Buffer, from: number): number {
  let next = from;
  let size = batchBytes(data, 0);
  for (let at = 0; size !== undefined; size = batchBytes(data, at)) {
    next = Math.max(next, offsetsOf(data, at).last + 1);
    at += size;
  }
  return next;
}

/** Names and values in order. Throws SOURCE_INVALID when they do not fit into their record. */
export function headersOf(message: KafkaMessage): { name: Buffer; value: Buffer }[] {
  const { bytes, headersEnd } = message;
  varint.at = message.headersAt;
  const count = readVarint(bytes);
  // Each has two lengths at least.
  if (count < 0 || count > (headersEnd - varint.at) / 2) throw brokenOff();
  const headers: { name: Buffer; value: Buffer }[] = [];
  for (let left = count; left > 0; left -= 1) {
    headers.push({ name: readBytes(bytes, headersEnd), value: readBytes(bytes, headersEnd) });
  }
  return headers;
}

/** The reader's position: a plain variable is much faster than an object per number. */
const varint = { at: 0 };

function readBytes(bytes: Buffer, end: number): Buffer {
  const length = Math.max(0, readVarint(bytes));
  if (varint.at + length > end) throw brokenOff();
  const part = bytes.subarray(varint.at, varint.at + length);
  varint.at += part.length;
  return part;
}

/** A varint has ten bytes at most. */
const maxFactor = 2 ** 63;

/** Zigzag varint; exact up to 2^53. */
function readVarint(bytes: Buffer): number {
  let byte = bytes[varint.at] as number;
  varint.at += 1;
  if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
  let value = byte & 0x7f;
  let factor = 128;
  do {
    if (factor > maxFactor) throw brokenOff();
    byte = bytes[varint.at] as number;
    varint.at += 1;
    value += (byte & 0x7f) * factor;
    factor *= 128;
  } while (byte >= 0x80);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** The key of a control record: version and type, where type 0 means aborted. */
function isAbortMarker(body: Buffer): boolean {
  varint.at = 0;
  readVarint(body);
  varint.at += 1;
  readVarint(body);
  readVarint(body);
  const keyLength = readVarint(body);
  return keyLength >= 4 && varint.at + 4 <= body.length && body.readInt16BE(varint.at + 2) === 0;
}
