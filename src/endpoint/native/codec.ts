/**
 * The primitives of the native protocol: numbers of variable and of fixed length, and strings with a length. Strings
 * are bytes: one that a client sends may hold anything.
 */

/** More bytes are needed. */
export class Incomplete extends Error {}

/** Bytes that are not a packet; the message is a sentence for the client. */
export class MalformedPacket extends Error {}

/** Reads from the beginning of some bytes. Throws Incomplete at their end. */
export class Reader {
  readonly #bytes: Buffer;
  readonly #maxString: number;
  #at = 0;

  /** Longer strings are malformed: nothing waits for them. */
  constructor(bytes: Buffer, maxString = 1_048_576) {
    this.#bytes = bytes;
    this.#maxString = maxString;
  }

  /** Bytes that were read. */
  get at(): number {
    return this.#at;
  }

  /** Goes back to the beginning: nothing was read. */
  rewind(): void {
    this.#at = 0;
  }

  byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new Incomplete();
    this.#at += 1;
    return byte;
  }

  /** A number that is exact in JavaScript. */
  varUint(): number {
    let value = 0;
    for (let shift = 0; shift < 53; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128 && value <= Number.MAX_SAFE_INTEGER) return value;
    }
    throw new MalformedPacket("A number in the packet is too large.");
  }

  bytes(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Incomplete();
    const found = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return found;
  }

  string(): Buffer {
    const length = this.varUint();
    if (length > this.#maxString) {
      throw new MalformedPacket(`A string in the packet has ${length} bytes; it can have ${this.#maxString}.`);
    }
    return this.bytes(length);
  }

  text(): string {
    return this.string().toString();
  }

  int32(): number {
    return this.bytes(4).readInt32LE();
  }

  uint32(): number {
    return this.bytes(4).readUInt32LE();
  }

  uint64(): bigint {
    return this.bytes(8).readBigUInt64LE();
  }
}

export class Writer {
  /** Grows: a query has some sixty fields, and memory for each of them costs more than their bytes. */
  #bytes = Buffer.allocUnsafe(1_024);
  #length = 0;

  byte(value: number): this {
    const at = this.#take(1);
    this.#bytes[at] = value;
    return this;
  }

  varUint(value: number): this {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.byte((rest % 128) | 128);
    return this.byte(rest);
  }

  string(value: string | Buffer): this {
    if (typeof value !== "string") return this.varUint(value.length).raw(value);
    const length = Buffer.byteLength(value);
    this.varUint(length);
    const at = this.#take(length);
    this.#bytes.write(value, at);
    return this;
  }

  int32(value: number): this {
    const at = this.#take(4);
    this.#bytes.writeInt32LE(value, at);
    return this;
  }

  raw(bytes: Buffer): this {
    const at = this.#take(bytes.length);
    bytes.copy(this.#bytes, at);
    return this;
  }

  /** What was written. The writer is not used any more. */
  done(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Room for so many bytes. Returns where it begins. */
  #take(length: number): number {
    const at = this.#length;
    this.#length += length;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}
