/**
 * Counts the rows of data in the format Native: blocks of columns, each of a type that the block names. Where a block
 * ends follows from the types; a block with a type whose values say themselves how long they are (JSON, Variant,
 * aggregate states) is not counted.
 */
import { type ColumnType, parseType } from "../../clickhouse/types.ts";

/** Bytes of a value, by the name of its type. */
export const fixedBytes: Readonly<Record<string, number>> = {
  ...{ Int8: 1, UInt8: 1, Bool: 1, Int16: 2, UInt16: 2, Int32: 4, UInt32: 4, Int64: 8, UInt64: 8 },
  ...{ Int128: 16, UInt128: 16, Int256: 32, UInt256: 32, Float32: 4, Float64: 8 },
  ...{ Date: 2, Date32: 4, DateTime: 4, DateTime64: 8, UUID: 16, IPv4: 4, IPv6: 16, Enum8: 1, Enum16: 2 },
};
/** Longer headers are none of a small insert. */
const maxColumns = 10_000;

class Unreadable extends Error {}

/** The rows, and the names and types of the columns; undefined when the data does not end with a block. */
export function nativeRows(data: Buffer): { readonly rows: number; readonly shape: string } | undefined {
  const reader = new NativeReader(data);
  let rows = 0;
  let shape: string | undefined;
  try {
    while (!reader.atEnd) {
      const block = reader.block();
      // Columns of different blocks are different inserts.
      if (shape !== undefined && shape !== block.shape) return undefined;
      ({ shape } = block);
      rows += block.rows;
    }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RangeError) return undefined;
    throw error;
  }
  return shape === undefined ? undefined : { rows, shape };
}

class NativeReader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Buffer) {
    this.#data = data;
  }

  get atEnd(): boolean {
    return this.#at === this.#data.length;
  }

  block(): { readonly rows: number; readonly shape: string } {
    const columns = this.#varUint();
    const rows = this.#varUint();
    if (columns === 0 || columns > maxColumns) throw new Unreadable();
    const shape: string[] = [];
    for (let column = 0; column < columns; column += 1) {
      const [name, type] = [this.#text(), this.#text()];
      shape.push(name, type);
      // The parser of types removes this wrapper, with what is around its type.
      if (type.includes("SimpleAggregateFunction")) throw new Unreadable();
      if (rows === 0) continue;
      const parsed = parseType(type);
      this.#prefix(parsed);
      this.#values(parsed, rows);
    }
    return { rows, shape: JSON.stringify(shape) };
  }

  /** What precedes the values of a column: a number for each type with a dictionary. */
  #prefix(type: ColumnType): void {
    if (isDictionary(type)) this.#skip(8);
    else for (const item of type.items) this.#prefix(item);
  }

  #values(type: ColumnType, rows: number): void {
    if (isDictionary(type)) this.#dictionary(type, rows);
    else {
      if (type.nullable) this.#skip(rows);
      this.#plain(type, rows);
    }
  }

  #plain(type: ColumnType, rows: number): void {
    const { name, items, text } = type;
    if (name === "String") for (let row = 0; row < rows; row += 1) this.#skip(this.#varUint());
    else if (name === "Array" || name === "Map") {
      const inner = this.#lastOffset(rows);
      for (const item of items) this.#values(item, inner);
    } else if (name === "Tuple") for (const item of items) this.#values(item, rows);
    else this.#skip(rows * widthOf(name, text));
  }

  /** A dictionary per column: flags, the keys, and a place in it for each row. */
  #dictionary(type: ColumnType, rows: number): void {
    const flags = Number(this.#data.readBigUInt64LE(this.#at));
    this.#skip(8);
    // Keys of its own, and none that are shared between blocks.
    if ((flags & 0x3_00) !== 0x2_00) throw new Unreadable();
    this.#plain(type, this.#number());
    if (this.#number() !== rows) throw new Unreadable();
    this.#skip(rows * 2 ** (flags & 0xff));
  }

  #lastOffset(rows: number): number {
    if (rows === 0) return 0;
    this.#skip((rows - 1) * 8);
    return this.#number();
  }

  #number(): number {
    const value = Number(this.#data.readBigUInt64LE(this.#at));
    this.#skip(8);
    return value;
  }

  #varUint(): number {
    let value = 0;
    for (let shift = 0; shift < 49; shift += 7) {
      const byte = this.#data.readUInt8(this.#at);
      this.#at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Unreadable();
  }

  #text(): string {
    const length = this.#varUint();
    this.#skip(length);
    return this.#data.toString("latin1", this.#at - length, this.#at);
  }

  #skip(bytes: number): void {
    if (!(bytes >= 0) || this.#at + bytes > this.#data.length) throw new Unreadable();
    this.#at += bytes;
  }
}

function isDictionary({ text }: ColumnType): boolean {
  return text.startsWith("LowCardinality(");
}

/** Bytes of a value. Throws for types that are not known here. */
function widthOf(name: string, text: string): number {
  if (Object.hasOwn(fixedBytes, name)) return fixedBytes[name] as number;
  const [, type, argument] = /^(?:LowCardinality\(|Nullable\()*(FixedString|Decimal)\((\d+)/.exec(text) ?? [];
  if (type === "FixedString") return Number(argument);
  const digits = Number(argument);
  if (type === "Decimal") return digits <= 9 ? 4 : digits <= 18 ? 8 : digits <= 38 ? 16 : 32;
  throw new Unreadable();
}
