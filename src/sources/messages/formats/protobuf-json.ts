/**
 * A protobuf message as a JSON object for the engine's reader, as single-byte text. A first pass over the message finds
 * the position of each field's value; then the fields are written in the order of the schema: the last value of a field
 * counts, and parts of a message field are merged.
 */

import { type ProtobufField, type ScalarKind, type Shape, type ValueType, zeroOf } from "./protobuf-shape.ts";
import { maxDepth, ProtobufWireError, ProtobufWireReader, wireTypes } from "./protobuf-wire.ts";

/** A short message may expand to much text: empty submessages with many fields, long enumeration names. */
const rowBytes = { base: 1_000_000, perByte: 16, most: 64_000_000 };

const fixedTypes: Readonly<Partial<Record<ValueType["kind"], number>>> = {
  double: wireTypes.fixed64,
  fixed64: wireTypes.fixed64,
  sfixed64: wireTypes.fixed64,
  float: wireTypes.fixed32,
  fixed32: wireTypes.fixed32,
  sfixed32: wireTypes.fixed32,
};

function wireTypeOf(type: ValueType): number {
  if (type.kind === "message") return type.delimited ? wireTypes.group : wireTypes.bytes;
  if (type.kind === "string" || type.kind === "bytes") return wireTypes.bytes;
  return fixedTypes[type.kind] ?? wireTypes.varint;
}

/** Positions of the values of one message. */
type Found = {
  /** Start and end of the last value, by the field's index; -1 when there is none. */
  readonly ends: number[];
  /** Start and end of every value, for repeated fields. */
  readonly lists: (number[] | undefined)[];
  /** Index of the field that counts, by oneof. */
  readonly chosen: (number | undefined)[];
};

export class ProtobufJson {
  readonly #wire = new ProtobufWireReader();
  #left = 0;

  /** Throws WireError when `bytes[start, end)` is not such a message, or its row would be too large. */
  object(shape: Shape, bytes: Buffer, start: number, end: number): string {
    this.#wire.bytes = bytes;
    this.#left = Math.min(rowBytes.base + rowBytes.perByte * (end - start), rowBytes.most);
    const text = this.#message(shape, start, end, 1);
    // Only when the message itself is of a well-known type with a single value.
    return shape.as === "object" ? text : `{"value":${text}}`;
  }

  #message(shape: Shape, start: number, end: number, depth: number): string {
    if (depth > maxDepth) throw new ProtobufWireError(`The message is nested more than ${maxDepth} deep.`);
    const found = this.#find(shape, start, end, depth);
    if (shape.as === "timestamp") return this.#timestamp(shape, found);
    if (shape.as === "duration") return this.#duration(shape, found);
    if (shape.as === "value") return this.#only(shape, found, depth);
    let text = "{";
    for (const field of shape.fields) {
      const value = this.#field(field, found, depth);
      if (value === undefined) {
        if (field.required) throw new ProtobufWireError(`The message has no required field "${field.name}".`);
        continue;
      }
      this.#spend(field.key.length + 1);
      text += text.length === 1 ? field.key + value : `,${field.key}${value}`;
    }
    return `${text}}`;
  }

  #find(shape: Shape, start: number, end: number, depth: number): Found {
    const wire = this.#wire;
    // Sparse messages of many fields take time without writing anything.
    this.#spend(shape.fields.length >> 3);
    const found: Found = { ends: new Array(shape.fields.length * 2).fill(-1), lists: [], chosen: [] };
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const field = shape.byNumber.get(tag >>> 3);
      const type = tag & 7;
      const expected = field === undefined ? -1 : wireTypeOf(field.type);
      const packed = type === wireTypes.bytes && expected !== wireTypes.bytes && expected !== wireTypes.group;
      // A field with another wire type is an unknown field, as for every other reader.
      if (field === undefined || (type !== expected && !(packed && field.many === "list"))) {
        wire.skip(tag, end, depth);
        continue;
      }
      let from = wire.at;
      let to: number;
      if (type === wireTypes.bytes) {
        const length = wire.length(end);
        from = wire.at;
        to = wire.at = from + length;
      } else if (type === wireTypes.group) to = wire.skipGroup(tag, end, depth);
      else {
        wire.skip(tag, end);
        to = wire.at;
      }
      note(found, field, from, to);
    }
    return found;
  }

  /** The field's value; undefined when the row omits it. */
  #field(field: ProtobufField, found: Found, depth: number): string | undefined {
    const { index, many, type } = field;
    const from = found.ends[2 * index] as number;
    if (from < 0) {
      if (field.zero !== undefined) this.#spend(field.zero.length);
      return field.zero;
    }
    const list = found.lists[index];
    if (many === "list") return this.#list(type, list as number[], depth);
    if (many === "map") return this.#map(type, list as number[], depth);
    if (type.kind === "message" && list !== undefined && list.length > 2)
      return this.#merged(type.shape(), list, depth);
    return this.#value(type, from, found.ends[2 * index + 1] as number, depth);
  }

  #list(type: ValueType, list: readonly number[], depth: number): string {
    const isOne = type.kind === "message" || type.kind === "string" || type.kind === "bytes";
    let text = "[";
    for (let at = 0; at < list.length; at += 2) {
      const end = list[at + 1] as number;
      // A single element is read in the same way as packed ones.
      for (let from = list[at] as number; isOne || from < end; from = this.#wire.at) {
        this.#spend(1);
        const value = this.#value(type, from, end, depth);
        text += text.length === 1 ? value : `,${value}`;
        if (isOne) break;
      }
    }
    return `${text}]`;
  }

  #map(type: ValueType, list: readonly number[], depth: number): string {
    const entry = (type as ValueType & { kind: "message" }).shape();
    const [keyField, valueField] = entry.fields as [ProtobufField, ProtobufField];
    const members = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) {
      const found = this.#find(entry, list[at] as number, list[at + 1] as number, depth);
      const key = this.#field(keyField, found, depth) as string;
      const of = valueField.type;
      const empty = () => (of.kind === "message" ? this.#message(of.shape(), 0, 0, depth + 1) : (zeroOf(of) as string));
      this.#spend(4);
      members.set(key.startsWith('"') ? key : `"${key}"`, this.#field(valueField, found, depth) ?? empty());
    }
    return `{${[...members].map(([key, value]) => `${key}:${value}`).join(",")}}`;
  }

  /** Separate parts of one message mean the same as their concatenated bytes. */
  #merged(shape: Shape, list: readonly number[], depth: number): string {
    const wire = this.#wire;
    const whole = wire.bytes;
    const parts: Buffer[] = [];
    for (let at = 0; at < list.length; at += 2) parts.push(whole.subarray(list[at], list[at + 1]));
    wire.bytes = Buffer.concat(parts);
    const text = this.#message(shape, 0, wire.bytes.length, depth + 1);
    wire.bytes = whole;
    return text;
  }

  #only(shape: Shape, found: Found, depth: number): string {
    const set = shape.fields.find(({ index }) => (found.ends[2 * index] as number) >= 0) ?? shape.fields[0];
    return this.#field(set as ProtobufField, found, depth) as string;
  }

  #timestamp(shape: Shape, found: Found): string {
    const [seconds, nanos] = this.#secondsAndNanos(shape, found);
    if (seconds < -62_135_596_800 || seconds > 253_402_300_799 || nanos < 0) {
      throw new ProtobufWireError(
        `The time of ${seconds} seconds and ${nanos} nanoseconds is none of the years 1 to 9999.`,
      );
    }
    const text = new Date(seconds * 1000).toISOString().slice(0, 19);
    return `"${text}${nanos === 0 ? "" : `.${digits(nanos)}`}Z"`;
  }

  /** Seconds with their fraction, as a number. */
  #duration(shape: Shape, found: Found): string {
    const [seconds, nanos] = this.#secondsAndNanos(shape, found);
    if (Math.abs(seconds) > 315_576_000_000 || seconds * nanos < 0) {
      throw new ProtobufWireError(`The duration of ${seconds} seconds and ${nanos} nanoseconds is not a valid one.`);
    }
    const sign = seconds < 0 || nanos < 0 ? "-" : "";
    return `${sign}${Math.abs(seconds)}${nanos === 0 ? "" : `.${digits(Math.abs(nanos))}`}`;
  }

  #secondsAndNanos(shape: Shape, found: Found): [number, number] {
    const [seconds, nanos] = shape.fields.map((field) => Number(this.#field(field, found, 0)));
    if (Math.abs(nanos as number) > 999_999_999)
      throw new ProtobufWireError(`A time of the message has ${nanos} nanoseconds.`);
    return [seconds as number, nanos as number];
  }

  /** One value that begins at `from`; integers determine their own length. */
  #value(type: ValueType, from: number, end: number, depth: number): string {
    if (type.kind === "message") return this.#message(type.shape(), from, end, depth + 1);
    this.#wire.at = from;
    const text = type.kind === "enum" ? this.#enum(type.names, end) : this.#scalar(type.kind, end);
    this.#spend(text.length);
    return text;
  }

  #enum(names: ReadonlyMap<number, string>, end: number): string {
    this.#wire.varint(end);
    const number = this.#wire.low | 0;
    return names.get(number) ?? String(number);
  }

  #scalar(kind: ScalarKind, end: number): string {
    const wire = this.#wire;
    const { bytes, at } = wire;
    if (kind === "string" || kind === "bytes") return quoted(bytes.toString("latin1", at, end));
    const type = fixedTypes[kind];
    if (type !== undefined) {
      wire.fixed(type === wireTypes.fixed64 ? 8 : 4, end);
      return fixedText(kind, bytes, at);
    }
    wire.varint(end);
    const { low, high } = wire;
    switch (kind) {
      case "int32":
        return String(low | 0);
      case "uint32":
        return String(low);
      case "sint32":
        return String((low >>> 1) ^ -(low & 1));
      case "int64":
        return wire.signed();
      case "uint64":
        return wire.unsigned();
      case "sint64":
        return wire.zigzag();
      case "bool":
        return low !== 0 || high !== 0 ? "true" : "false";
      default:
        return "null";
    }
  }

  #spend(length: number): void {
    this.#left -= length;
    if (this.#left < 0) throw new ProtobufWireError("The message stands for a row that is too large for its size.");
  }
}

function note(found: Found, field: ProtobufField, from: number, to: number): void {
  const { index, many, type, oneof } = field;
  if (oneof !== undefined) {
    const before = found.chosen[oneof];
    if (before !== undefined && before !== index) {
      found.ends[2 * before] = -1;
      found.lists[before] = undefined;
    }
    found.chosen[oneof] = index;
  }
  found.ends[2 * index] = from;
  found.ends[2 * index + 1] = to;
  if (many === "no" && type.kind !== "message") return;
  const list = found.lists[index];
  if (list === undefined) found.lists[index] = [from, to];
  else list.push(from, to);
}

function fixedText(kind: ScalarKind, bytes: Buffer, at: number): string {
  switch (kind) {
    case "fixed32":
      return String(bytes.readUInt32LE(at));
    case "sfixed32":
      return String(bytes.readInt32LE(at));
    case "fixed64":
      return String(bytes.readBigUInt64LE(at));
    case "sfixed64":
      return String(bytes.readBigInt64LE(at));
    case "float":
      return floatText(bytes.readFloatLE(at));
    default:
      return floatText(bytes.readDoubleLE(at));
  }
}

/** In quotes where JSON has no number: the engine reads these, and skips them where they are not wanted. */
function floatText(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : String(value);
  return Number.isNaN(value) ? '"nan"' : value > 0 ? '"inf"' : '"-inf"';
}

function digits(nanos: number): string {
  return String(nanos)
    .padStart(9, "0")
    .replace(/(?:000){1,2}$/, "");
}

function quoted(text: string): string {
  return /["\\\x00-\x1f]/.test(text) ? JSON.stringify(text) : `"${text}"`;
}
