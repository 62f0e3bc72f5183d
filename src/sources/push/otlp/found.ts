/** The fields of a record, by their numbers. */
import type { Bytes } from "./columns.ts";
import { type Attributes, writeValue } from "./values.ts";
import { Fields, varintAt, zigzagAt } from "./wire.ts";

const zero = Buffer.alloc(8);
/** More than the numbers of the fields that are read. */
const mostFields = 32;

/** Where the fields of a message are, by their numbers: the last of each that is there. */
export class Found {
  #bytes: Buffer = zero;
  readonly #from = new Int32Array(mostFields);
  readonly #to = new Int32Array(mostFields);

  /** Begins another message. */
  begin({ bytes }: Fields): void {
    this.#bytes = bytes;
    this.#from.fill(0);
    this.#to.fill(0);
  }

  take({ field, from, to }: Fields): void {
    if (field >= mostFields) return;
    this.#from[field] = from;
    this.#to[field] = to;
  }

  has(field: number): boolean {
    return this.#to[field] !== 0;
  }

  /** Absent, or without content. */
  isEmpty(field: number): boolean {
    return this.#from[field] === this.#to[field];
  }

  /** As strings of a column. */
  text(field: number, to: Bytes): void {
    to.text(this.#bytes, this.#from[field], this.#to[field]);
  }

  hex(field: number, to: Bytes): void {
    to.hex(this.#bytes, this.#from[field] as number, this.#to[field] as number);
  }

  /** Eight bytes, which are zero without the field. */
  eight(field: number, to: Bytes): void {
    if (this.has(field)) to.copy(this.#bytes, this.#from[field], this.#to[field]);
    else to.copy(zero);
  }

  /** A varint. */
  number(field: number): number {
    return this.has(field) ? varintAt(this.#bytes, this.#from[field] as number) : 0;
  }

  zigzag(field: number): number {
    return this.has(field) ? zigzagAt(this.#bytes, this.#from[field] as number) : 0;
  }

  fixed32(field: number): number {
    return this.has(field) ? this.#bytes.readUInt32LE(this.#from[field]) : 0;
  }

  fixed64(field: number): bigint {
    return this.has(field) ? this.#bytes.readBigUInt64LE(this.#from[field]) : 0n;
  }

  /** The content as a message; one without fields where it is absent. */
  inside(field: number): Fields {
    return new Fields(this.#bytes, this.#from[field], this.#to[field]);
  }

  /** An `AnyValue` as a string of a column. */
  value(field: number, to: Bytes): void {
    writeValue(to, this.#bytes, this.#from[field] as number, this.#to[field] as number);
  }
}

/** The fields of a message whose attributes have the number `attributes`. */
export function collect(found: Found, fields: Fields, attributes = 0, own?: Attributes): void {
  found.begin(fields);
  own?.clear();
  while (fields.next()) {
    if (fields.field === attributes) own?.add(fields);
    else found.take(fields);
  }
}
