/**
 * Attributes and values as the columns show them: everything is text, lists and maps are JSON, and keys are sorted. The
 * forms are those of the collector's ClickHouse exporter, so that both can write to one table.
 */
import { Bytes, type Entries, type MapColumn } from "./columns.ts";
import { bigVarintAt, Fields } from "./wire.ts";

/** Numbers of the fields of an `AnyValue`. */
const value = { string: 1, bool: 2, int: 3, double: 4, list: 5, map: 6, bytes: 7 };

/** Key-values of a message, found while its fields are read; written when all are known. */
export class Attributes {
  /** Start and end of the key and of the value, of each. */
  #ranges: number[] = [];
  #order: number[] = [];
  #bytes: Buffer = Buffer.alloc(0);

  /** Makes room for the next message. */
  clear(): void {
    this.#ranges.length = 0;
    this.#order.length = 0;
  }

  /** A field of the type `KeyValue`. */
  add({ bytes, from, to }: Fields): void {
    this.#bytes = bytes;
    const ranges = this.#ranges;
    const at = ranges.length;
    ranges.push(0, 0, 0, 0);
    const fields = new Fields(bytes, from, to);
    while (fields.next()) {
      const place = fields.field === 1 ? at : fields.field === 2 ? at + 2 : -1;
      if (place < 0) continue;
      ranges[place] = fields.from;
      ranges[place + 1] = fields.to;
    }
    this.#insert(at);
  }

  /** Adds a row. */
  write(to: MapColumn): void {
    this.#entries(to.keys, to.values);
    to.ends.add(this.#order.length);
  }

  /** A copy that several rows share. */
  kept(): Entries {
    const keys = new Bytes();
    const values = new Bytes();
    this.#entries(keys, values);
    return { count: this.#order.length, keys: keys.content, values: values.content };
  }

  /** The value of a key as text; "" without one. */
  text(key: string): string {
    const ranges = this.#ranges;
    const found = this.#order.find(
      (at) => this.#bytes.toString("utf8", ranges[at] as number, ranges[at + 1] as number) === key,
    );
    return found === undefined
      ? ""
      : textOf(last(this.#bytes, ranges[found + 2] as number, ranges[found + 3] as number));
  }

  #entries(keys: Bytes, values: Bytes): void {
    const ranges = this.#ranges;
    for (const at of this.#order) {
      keys.text(this.#bytes, ranges[at], ranges[at + 1]);
      writeValue(values, this.#bytes, ranges[at + 2] as number, ranges[at + 3] as number);
    }
  }

  /** Lists are short, and senders often sort them. */
  #insert(at: number): void {
    const order = this.#order;
    let place = order.length;
    while (place > 0 && this.#isAfter(order[place - 1] as number, at)) place -= 1;
    if (place === order.length) order.push(at);
    else order.splice(place, 0, at);
  }

  #isAfter(one: number, other: number): boolean {
    const ranges = this.#ranges;
    const bytes = this.#bytes;
    let [a, b] = [ranges[one] as number, ranges[other] as number];
    const [aEnd, bEnd] = [ranges[one + 1] as number, ranges[other + 1] as number];
    while (a < aEnd && b < bEnd && bytes[a] === bytes[b]) {
      a += 1;
      b += 1;
    }
    if (b === bEnd) return a < aEnd;
    return a < aEnd && (bytes[a] as number) > (bytes[b] as number);
  }
}

/** An `AnyValue` as a string of a column. */
export function writeValue(to: Bytes, bytes: Buffer, from: number, end: number): void {
  // The usual value: a string and nothing else, shorter than 128 bytes.
  if (end - from >= 2 && bytes[from] === 0x0a && bytes[from + 1] === end - from - 2) {
    to.text(bytes, from + 2, end);
    return;
  }
  const found = last(bytes, from, end);
  // The bytes as they are: senders do not always send UTF-8.
  if (found?.field === value.string) to.text(bytes, found.from, found.to);
  else to.string(textOf(found));
}

function textOf(found: Fields | undefined): string {
  if (found === undefined) return "";
  const { bytes, field } = found;
  if (field === value.string) return bytes.toString("utf8", found.from, found.to);
  if (field === value.bytes) return bytes.toString("base64", found.from, found.to);
  if (field === value.double) return numberText(bytes.readDoubleLE(found.from));
  return jsonOf(found) ?? "";
}

/** The one of the fields that holds the value: the last that is there. */
function last(bytes: Buffer, from: number, end: number): Fields | undefined {
  const fields = new Fields(bytes, from, end);
  let found: Fields | undefined;
  while (fields.next()) {
    if (fields.field > value.bytes) continue;
    found = new Fields(bytes, fields.to, fields.to);
    Object.assign(found, { field: fields.field, wire: fields.wire, from: fields.from });
  }
  return found;
}

/** Undefined where JSON has no form of it: numbers that are not finite. */
function jsonOf(found: Fields | undefined): string | undefined {
  if (found === undefined) return "null";
  const { bytes, field, from, to } = found;
  switch (field) {
    case value.string:
      return quoted(bytes.toString("utf8", from, to));
    case value.bool:
      return found.number() === 0 ? "false" : "true";
    case value.int:
      return String(BigInt.asIntN(64, bigVarintAt(bytes, from)));
    case value.double: {
      const number = bytes.readDoubleLE(from);
      return Number.isFinite(number) ? numberText(number) : undefined;
    }
    case value.list:
      return jsonList(found);
    case value.map:
      return jsonMap(found);
    default:
      return from === to ? "null" : `"${bytes.toString("base64", from, to)}"`;
  }
}

function jsonList(list: Fields): string | undefined {
  const values: string[] = [];
  const fields = list.inside();
  while (fields.next()) {
    if (fields.field !== 1) continue;
    const json = jsonOf(last(fields.bytes, fields.from, fields.to));
    if (json === undefined) return undefined;
    values.push(json);
  }
  return `[${values.join(",")}]`;
}

function jsonMap(map: Fields): string | undefined {
  const entries = new Map<string, string>();
  const fields = map.inside();
  while (fields.next()) {
    if (fields.field !== 1) continue;
    let key = "";
    let json: string | undefined = "null";
    const entry = fields.inside();
    while (entry.next()) {
      if (entry.field === 1) key = entry.bytes.toString("utf8", entry.from, entry.to);
      else if (entry.field === 2) json = jsonOf(last(entry.bytes, entry.from, entry.to));
    }
    if (json === undefined) return undefined;
    entries.set(key, json);
  }
  const sorted = [...entries].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([key, json]) => `${quoted(key)}:${json}`).join(",")}}`;
}

/** Two characters that end lines in scripts are escaped, as the exporter does. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function numberText(number: number): string {
  return Object.is(number, -0) ? "-0" : String(number);
}
