/** Reading a message from front to back, every length checked before it is used. */

/** What is wrong with the bytes, as the end of a sentence. */
export class MalformedBytes extends Error {}

export class ByteReader {
  readonly message: Buffer;
  #at = 0;

  constructor(message: Buffer) {
    this.message = message;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.message.length - this.#at;
  }

  /** Throws when fewer than `bytes` bytes are left. */
  expect(bytes: number, what: string): void {
    if (bytes < 0) throw new MalformedBytes(`${what} of ${bytes} bytes cannot be`);
    if (bytes > this.left)
      throw new MalformedBytes(`${what} of ${bytes} bytes does not fit into the ${this.left} left`);
  }

  expectEnd(): void {
    if (this.left > 0) throw new MalformedBytes(`${this.left} bytes are left over`);
  }

  skip(bytes: number, what: string): void {
    this.expect(bytes, what);
    this.#at += bytes;
  }

  /** A view on the next bytes. */
  take(bytes: number, what: string): Buffer {
    this.skip(bytes, what);
    return this.message.subarray(this.#at - bytes, this.#at);
  }

  uint8(what: string): number {
    this.skip(1, what);
    return this.message[this.#at - 1] as number;
  }

  uint16(what: string): number {
    this.skip(2, what);
    return this.message.readUInt16BE(this.#at - 2);
  }

  int32(what: string): number {
    this.skip(4, what);
    return this.message.readInt32BE(this.#at - 4);
  }

  uint32(what: string): number {
    this.skip(4, what);
    return this.message.readUInt32BE(this.#at - 4);
  }

  int64(what: string): bigint {
    this.skip(8, what);
    return this.message.readBigInt64BE(this.#at - 8);
  }

  uint64(what: string): bigint {
    this.skip(8, what);
    return this.message.readBigUInt64BE(this.#at - 8);
  }

  letter(what: string): string {
    return String.fromCharCode(this.uint8(what));
  }

  /** UTF-8 up to a zero byte. */
  text(what: string): string {
    const end = this.message.indexOf(0, this.#at);
    if (end < 0) throw new MalformedBytes(`${what} has no end`);
    const text = this.message.toString("utf8", this.#at, end);
    this.#at = end + 1;
    return text;
  }
}
