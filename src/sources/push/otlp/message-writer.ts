/** Writes messages into one buffer, which grows: the answers, and what came as JSON. */
import { AppError } from "../../../lib/errors.ts";
import { delimited, encodedVarint, type Fields, fixed32, fixed64, varint } from "./wire.ts";

export class MessageWriter {
  #bytes: Buffer;
  readonly #most: number;
  #length = 0;

  constructor(capacity = 64, most = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  varint(field: number, value: bigint): void {
    this.#tag(field, varint);
    const bits = BigInt.asUintN(64, value);
    if (bits <= 0x7fff_ffffn) this.#number(Number(bits));
    else for (const byte of encodedVarint(bits)) this.#byte(byte);
  }

  fixed32(field: number, value: bigint): void {
    this.#tag(field, fixed32);
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(Number(value), this.#length);
  }

  fixed64(field: number, value: bigint | number): void {
    this.#tag(field, fixed64);
    this.#reserve(8);
    this.#length =
      typeof value === "number"
        ? this.#bytes.writeDoubleLE(value, this.#length)
        : this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, value), this.#length);
  }

  bytes(field: number, content: Buffer | string): void {
    this.#tag(field, delimited);
    const size = Buffer.byteLength(content);
    this.#number(size);
    this.#reserve(size);
    if (typeof content === "string") this.#bytes.write(content, this.#length);
    else content.copy(this.#bytes, this.#length);
    this.#length += size;
  }

  /** The field as it is. */
  raw({ bytes, field, wire, from, to }: Fields): void {
    this.#tag(field, wire);
    if (wire === delimited) this.#number(to - from);
    this.#reserve(to - from);
    this.#length += bytes.copy(this.#bytes, this.#length, from, to);
  }

  /** What is written until `close` is a message. */
  open(field: number): number {
    this.#tag(field, delimited);
    this.#byte(0);
    return this.#length;
  }

  /** Its length is known now: what is longer than one byte can say moves up. */
  close(start: number): void {
    const size = this.#length - start;
    if (size < 0x80) {
      this.#bytes[start - 1] = size;
      return;
    }
    const extra = encodedVarint(BigInt(size)).length - 1;
    this.#reserve(extra);
    this.#bytes.copyWithin(start + extra, start, this.#length);
    this.#length = start - 1;
    this.#number(size);
    this.#length += size;
  }

  content(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #tag(field: number, wire: number): void {
    this.#number(field * 8 + wire);
  }

  /** A varint of at most 31 bits. */
  #number(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80);
    this.#byte(rest);
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const needed = this.#length + size;
    if (needed > this.#most) {
      throw new AppError("PAYLOAD_TOO_LARGE", `The body has more than ${this.#most} bytes in Protobuf.`);
    }
    const larger = Buffer.allocUnsafe(Math.min(2 * needed, this.#most));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
