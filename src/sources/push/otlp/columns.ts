/** Columns that grow row by row, and become a block in the engine's `Native` format. */

/** Bytes at the end of which more are written. */
export class Bytes {
  #buffer = Buffer.allocUnsafeSlow(1_024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get content(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Makes room, and returns the position to write at. Before it is called, `#buffer` may be another one. */
  #room(bytes: number): number {
    const at = this.#size;
    this.#size += bytes;
    if (this.#size > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#size, this.#buffer.length * 2));
      this.#buffer.copy(grown, 0, 0, at);
      this.#buffer = grown;
    }
    return at;
  }

  copy(from: Buffer, start = 0, end = from.length): void {
    const at = this.#room(end - start);
    // A call costs more than a few bytes.
    if (end - start > 24) from.copy(this.#buffer, at, start, end);
    else for (let i = start, to = at; i < end; i += 1, to += 1) this.#buffer[to] = from[i] as number;
  }

  byte(value: number): void {
    const at = this.#room(1);
    this.#buffer[at] = value;
  }

  varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  /** Writes a number up to 2^53. */
  uint64(value: number): void {
    const at = this.#room(8);
    this.#buffer.writeUInt32LE(value % 0x1_0000_0000, at);
    this.#buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
  }

  bigUint64(value: bigint): void {
    const at = this.#room(8);
    this.#buffer.writeBigUInt64LE(value, at);
  }

  uint32(value: number): void {
    const at = this.#room(4);
    this.#buffer.writeUInt32LE(value >>> 0, at);
  }

  double(value: number): void {
    const at = this.#room(8);
    this.#buffer.writeDoubleLE(value, at);
  }

  /** A string of the format: its length, and its bytes. */
  text(from: Buffer, start = 0, end = from.length): void {
    this.varint(end - start);
    this.copy(from, start, end);
  }

  string(text: string): void {
    this.text(Buffer.from(text));
  }

  hex(from: Buffer, start: number, end: number): void {
    this.varint((end - start) * 2);
    for (let i = start; i < end; i += 1) {
      const byte = from[i] as number;
      this.byte(digits[byte >> 4] as number);
      this.byte(digits[byte & 15] as number);
    }
  }
}

const digits = Buffer.from("0123456789abcdef");

/** Where the list of each row ends. */
export class Ends extends Bytes {
  #total = 0;

  /** A row whose list has so many elements. */
  add(count: number): void {
    this.#total += count;
    this.uint64(this.#total);
  }
}

/** Maps of text to text. */
export class MapColumn {
  readonly ends = new Ends();
  readonly keys = new Bytes();
  readonly values = new Bytes();

  get parts(): readonly Bytes[] {
    return [this.ends, this.keys, this.values];
  }

  /** A row with entries that were written before. */
  add({ count, keys, values }: Entries): void {
    this.keys.copy(keys);
    this.values.copy(values);
    this.ends.add(count);
  }
}

/** The entries of a map that several rows have. */
export type Entries = { readonly count: number; readonly keys: Buffer; readonly values: Buffer };

/** The rows of a table. */
export class Block {
  rows = 0;
  readonly #columns: { readonly name: string; readonly type: string; readonly parts: readonly Bytes[] }[] = [];

  /** Their names, in the order of the block. */
  get names(): string[] {
    return this.#columns.map(({ name }) => name);
  }

  get bytes(): number {
    return this.#columns.reduce((sum, { parts }) => sum + parts.reduce((size, part) => size + part.size, 0), 0);
  }

  /** A column of numbers or times. */
  plain(name: string, type: string): Bytes {
    const values = new Bytes();
    this.#columns.push({ name, type, parts: [values] });
    return values;
  }

  text(name: string): Bytes {
    return this.plain(name, "String");
  }

  map(name: string): MapColumn {
    const map = new MapColumn();
    this.#columns.push({ name, type: mapType, parts: map.parts });
    return map;
  }

  /** The elements of lists that end at `ends`; lists of the same lengths share it. */
  list(name: string, type: string, ends: Ends): Bytes {
    const elements = new Bytes();
    this.#columns.push({ name, type: `Array(${type})`, parts: [ends, elements] });
    return elements;
  }

  mapList(name: string, ends: Ends): MapColumn {
    const map = new MapColumn();
    this.#columns.push({ name, type: `Array(${mapType})`, parts: [ends, ...map.parts] });
    return map;
  }

  /** In the engine's format. */
  pieces(): Buffer[] {
    const head = new Bytes();
    head.varint(this.#columns.length);
    head.varint(this.rows);
    const pieces = [head.content];
    for (const { name, type, parts } of this.#columns) {
      const title = new Bytes();
      title.string(name);
      title.string(type);
      pieces.push(title.content, ...parts.map(({ content }) => content));
    }
    return pieces;
  }
}

const mapType = "Map(String, String)";
