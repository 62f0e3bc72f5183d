/**
 * The primitives of the native protocol: numbers of variable and of fixed length, and strings with a length. Strings
 * are bytes: one that a client sends may hold anything.
 */

/** More bytes are needed. */
export class Incomplete extends Error {
  constructor() {
    super("the packet is incomplete");
  }
}

/** Bytes that are no packet; the message is a sentence for the client. */
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
    return this.bytes(1)[0] as number;
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
  readonly #parts: Buffer[] = [];

  byte(value: number): this {
    return this.raw(Buffer.from([value]));
  }

  varUint(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    return this.raw(Buffer.from([...bytes, rest]));
  }

  string(value: string | Buffer): this {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    return this.varUint(bytes.length).raw(bytes);
  }

  int32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    return this.raw(bytes);
  }

  uint64(value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return this.raw(bytes);
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
