/** Reads the fields of Protobuf messages in place. */
import { AppError } from "../../../lib/errors.ts";

export const varint = 0;
export const fixed64 = 1;
export const delimited = 2;
export const fixed32 = 5;

/** More bits than a varint has are an error of the sender. */
const longestVarint = 10;

/**
 * The fields between two positions, one after the other. Throws BAD_REQUEST for bytes that are not a message, so that a
 * message whose every part was read once can be read again without errors.
 */
export class Fields {
  readonly bytes: Buffer;
  /** Number, wire type, and the range of the content of the field that `next` has found. */
  field = 0;
  wire = 0;
  from = 0;
  to = 0;
  readonly #end: number;

  constructor(bytes: Buffer, from = 0, end = bytes.length) {
    this.bytes = bytes;
    this.to = from;
    this.#end = end;
  }

  /** False after the last field. */
  next(): boolean {
    if (this.to >= this.#end) return false;
    this.from = this.to;
    const tag = this.#length();
    this.field = tag >>> 3;
    this.wire = tag & 7;
    this.from = this.to;
    if (this.field === 0) throw malformed("a field has no number");
    if (this.wire === delimited) {
      const length = this.#length();
      this.from = this.to;
      this.to += length;
    } else if (this.wire === fixed64) this.to += 8;
    else if (this.wire === fixed32) this.to += 4;
    else if (this.wire === varint) this.to = varintEnd(this.bytes, this.from, this.#end);
    else throw malformed(`a field has the wire type ${this.wire}`);
    if (this.to > this.#end) throw malformed("a field ends after its message");
    return true;
  }

  /** The content as a message. */
  inside(): Fields {
    return new Fields(this.bytes, this.from, this.to);
  }

  content(): Buffer {
    return this.bytes.subarray(this.from, this.to);
  }

  /** A varint as a number: exact up to 2^53. */
  number(): number {
    return varintAt(this.bytes, this.from);
  }

  /** Tags and lengths: advances `to`. */
  #length(): number {
    const start = this.to;
    this.to = varintEnd(this.bytes, start, this.#end);
    const value = varintAt(this.bytes, start);
    if (value > 0xffff_ffff) throw malformed("a length is larger than a message can be");
    return value;
  }
}

/** The position after the varint. Throws BAD_REQUEST. */
export function varintEnd(bytes: Buffer, from: number, end: number): number {
  const last = Math.min(end, from + longestVarint);
  for (let at = from; at < last; at += 1) if ((bytes[at] as number) < 0x80) return at + 1;
  throw malformed("a number does not end");
}

/** Exact up to 2^53. */
export function varintAt(bytes: Buffer, from: number): number {
  let value = 0;
  let factor = 1;
  for (let at = from; ; at += 1) {
    const byte = bytes[at] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 0x80;
  }
}

export function bigVarintAt(bytes: Buffer, from: number): bigint {
  let value = 0n;
  for (let at = from, shift = 0n; ; at += 1, shift += 7n) {
    const byte = bytes[at] as number;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
}

/** A `sint32`. */
export function zigzagAt(bytes: Buffer, from: number): number {
  const value = varintAt(bytes, from) >>> 0;
  return (value >>> 1) ^ -(value & 1);
}

export function malformed(problem: string): AppError {
  return new AppError("BAD_REQUEST", `The body is not an OTLP message in Protobuf: ${problem}.`);
}

export function encodedVarint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}
