/**
 * The primitive types of the Kafka protocol, in both of its forms: the classic one, and the flexible one of newer
 * versions (KIP-482), in which lengths are compact and structures end with tagged fields. A reader throws RangeError
 * for a truncated response.
 */
const nothing = Buffer.alloc(0);

export class KafkaWireWriter {
  /** The form of the following writes. */
  flexible: boolean;
  #bytes = Buffer.allocUnsafe(1024);
  #length = 0;

  constructor(flexible = false) {
    this.flexible = flexible;
  }

  int8(value: number): this {
    const at = this.#grow(1);
    this.#bytes.writeInt8(value, at);
    return this;
  }

  int16(value: number): this {
    const at = this.#grow(2);
    this.#bytes.writeInt16BE(value, at);
    return this;
  }

  int32(value: number): this {
    const at = this.#grow(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  int64(value: number): this {
    const at = this.#grow(8);
    this.#bytes.writeBigInt64BE(BigInt(value), at);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  /** As groups of eight, four, four, four and twelve digits; null is the zero id. */
  uuid(id: string | null): this {
    const at = this.#grow(16);
    this.#bytes.fill(0, at, at + 16);
    if (id !== null) this.#bytes.write(id.replaceAll("-", ""), at, "hex");
    return this;
  }

  string(text: string | null): this {
    if (text === null) return this.flexible ? this.#unsigned(0) : this.int16(-1);
    const content = Buffer.from(text);
    if (!this.flexible) this.int16(content.length);
    else this.#unsigned(content.length + 1);
    return this.#raw(content);
  }

  bytes(content: Buffer): this {
    return this.#size(content.length).#raw(content);
  }

  array<T>(items: readonly T[], write: (item: T) => void): this {
    this.#size(items.length);
    for (const item of items) write(item);
    return this;
  }

  noArray(): this {
    return this.flexible ? this.#unsigned(0) : this.int32(-1);
  }

  /** Ends a structure without tagged fields; the classic form has none. */
  noTags(): this {
    return this.flexible ? this.#unsigned(0) : this;
  }

  /** Everything written. */
  content(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #size(value: number): this {
    return this.flexible ? this.#unsigned(value + 1) : this.int32(value);
  }

  #unsigned(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80);
    return this.#byte(rest);
  }

  #byte(value: number): this {
    const at = this.#grow(1);
    this.#bytes.writeUInt8(value, at);
    return this;
  }

  #raw(content: Buffer): this {
    const at = this.#grow(content.length);
    content.copy(this.#bytes, at);
    return this;
  }

  /** Reserves space and returns its offset; `#bytes` may be replaced. */
  #grow(more: number): number {
    const at = this.#length;
    this.#length += more;
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
    }
    return at;
  }
}

export class KafkaWireReader {
  /** The form of the following reads. */
  flexible: boolean;
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, flexible = false, at = 0) {
    this.#bytes = bytes;
    this.flexible = flexible;
    this.#at = at;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#move(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#move(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#move(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#move(8));
  }

  /** An offset or a time, as a number that holds it exactly. */
  offset(): number {
    const value = Number(this.int64());
    if (!Number.isSafeInteger(value)) throw new RangeError("an offset of more than 53 bits");
    return value;
  }

  uuid(): string {
    const at = this.#move(16);
    const digits = this.#bytes.toString("hex", at, at + 16);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  string(): string {
    return this.nullableString() ?? "";
  }

  nullableString(): string | null {
    const size = this.flexible ? this.#unsigned() - 1 : this.int16();
    return size < 0 ? null : this.#view(size).toString();
  }

  /** A view; empty for null. */
  bytes(): Buffer {
    const size = this.#size();
    return size <= 0 ? nothing : this.#view(size);
  }

  /** Empty for null. */
  array<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.#size(); left > 0; left -= 1) items.push(read());
    return items;
  }

  /** Skips the tagged fields that end a structure; the classic form has none. */
  tags(): void {
    if (!this.flexible) return;
    for (let count = this.#unsigned(); count > 0; count -= 1) {
      this.#unsigned(); // tag
      this.#move(this.#unsigned());
    }
  }

  #size(): number {
    return this.flexible ? this.#unsigned() - 1 : this.int32();
  }

  #view(size: number): Buffer {
    const at = this.#move(size);
    return this.#bytes.subarray(at, at + size);
  }

  #unsigned(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.#move(1));
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a length of more than five bytes");
  }

  #move(size: number): number {
    const at = this.#at;
    if (size < 0 || size > this.left) throw new RangeError("the answer ends too early");
    this.#at += size;
    return at;
  }
}
