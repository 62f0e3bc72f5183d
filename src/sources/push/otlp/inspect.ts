/**
 * Checks a request before it is acknowledged: every message in it can be read, and every record that is kept can become
 * a row. What is kept is read again later, and then nothing of it fails.
 */
import { AppError } from "../../../lib/errors.ts";
import { MessageWriter } from "./message-writer.ts";
import { type Message, type MessageField, type Signal, signals } from "./messages.ts";
import { delimited, Fields, fixed32, fixed64, malformed, varint, varintEnd } from "./wire.ts";

/** Messages within messages: a list takes two levels, a map three. Protobuf's own libraries have the same limit. */
export const deepest = 100;
export const tooDeep = `nested in more than ${deepest} levels, of which a list takes two and a map three`;

export type Inspected = {
  /** Number of the records that are kept. */
  readonly records: number;
  /** The request with them alone. */
  readonly body: Buffer;
  readonly rejected: number;
  /** Why the first of the others is not kept. */
  readonly reason: string | undefined;
};

/** Rows may have so many times the bytes that a body or a batch may have. */
export const mostExpansion = 4;

/** About the bytes of a row beside those of its record. */
const rowBytes = 100;

/**
 * Throws BAD_REQUEST, and PAYLOAD_TOO_LARGE when the rows would have more than `mostRowBytes`: each has the attributes
 * of its resource and scope, so that a body of 1 MB could otherwise be more than the memory of the pipe's worker.
 */
export function inspect(signal: Signal, body: Buffer, mostRowBytes?: number): Inspected {
  const { request } = signals[signal];
  const found = new Inspection(mostRowBytes);
  found.message(request, new Fields(body), 0);
  const { records, rejected, reason } = found;
  if (rejected === 0) return { records, body, rejected, reason };
  return { records: records - rejected, body: acceptable(request, new Fields(body)), rejected, reason };
}

class Inspection {
  records = 0;
  rejected = 0;
  reason: string | undefined;
  /** What is wrong with the record that is being read. */
  #problem: string | undefined;
  readonly #mostRowBytes: number;
  #rowBytes = 0;

  constructor(mostRowBytes = Number.POSITIVE_INFINITY) {
    this.#mostRowBytes = mostRowBytes;
  }

  message(message: Message, fields: Fields, depth: number): void {
    if (depth > deepest) throw malformed(`values are ${tooDeep}`);
    const before = this.records;
    let shared = 0;
    while (fields.next()) {
      const field = message.byNumber.get(fields.field);
      if (field === undefined) continue;
      const records = this.records;
      if (field.kind !== "message") this.#problem ??= leafProblem(field, fields);
      else this.#inner(field, fields, depth);
      if (this.records === records) shared += fields.to - fields.from;
    }
    this.#addRowBytes(shared * (this.records - before));
  }

  /** What is wrong with a record. */
  record(message: Message, fields: Fields): string | undefined {
    this.#problem = undefined;
    this.message(message, fields, 0);
    return this.#problem;
  }

  #inner(field: MessageField & { readonly kind: "message" }, fields: Fields, depth: number): void {
    requireWire(field, fields.wire, delimited);
    if (!field.isRecord) {
      this.message(field.message, fields.inside(), depth + 1);
      return;
    }
    const problem = this.record(field.message, fields.inside());
    this.records += 1;
    this.#addRowBytes(fields.to - fields.from + rowBytes);
    if (problem === undefined) return;
    this.rejected += 1;
    this.reason ??= problem;
  }

  #addRowBytes(bytes: number): void {
    this.#rowBytes += bytes;
    if (this.#rowBytes <= this.#mostRowBytes) return;
    const rows = "The rows of this request, each with the attributes of its resource and scope,";
    const advice = "send fewer records in one request";
    throw new AppError("PAYLOAD_TOO_LARGE", `${rows} would have more than ${this.#mostRowBytes} bytes: ${advice}.`);
  }
}

/** The same message without the records that cannot be kept. */
function acceptable(message: Message, fields: Fields): Buffer {
  const kept = new MessageWriter();
  while (fields.next()) {
    const { bytes, from, to } = fields;
    const field = message.byNumber.get(fields.field);
    if (field?.kind !== "message") kept.raw(fields);
    else if (!field.isRecord) kept.bytes(field.number, acceptable(field.message, fields.inside()));
    else if (new Inspection().record(field.message, fields.inside()) === undefined) {
      kept.bytes(field.number, bytes.subarray(from, to));
    }
  }
  return kept.content();
}

/** Throws BAD_REQUEST for a field of another wire type; returns why a record with it cannot be kept. */
function leafProblem(field: MessageField, fields: Fields): string | undefined {
  const { bytes, from, to, wire } = fields;
  switch (field.kind) {
    case "string":
    case "bytes":
      requireWire(field, wire, delimited);
      return undefined;
    case "traceId":
      requireWire(field, wire, delimited);
      return to - from === 16 || to === from ? undefined : `${field.name} must have 16 bytes`;
    case "spanId":
      requireWire(field, wire, delimited);
      return to - from === 8 || to === from ? undefined : `${field.name} must have 8 bytes`;
    case "time":
      requireWire(field, wire, fixed64);
      return (bytes[from + 7] as number) < 0x80 ? undefined : `${field.name} is later than the year 2262`;
    case "double":
    case "fixed64":
    case "sfixed64":
      requireNumbers(field, fields, fixed64);
      return undefined;
    case "fixed32":
      requireWire(field, wire, fixed32);
      return undefined;
    default:
      requireNumbers(field, fields, varint);
      return undefined;
  }
}

/** Repeated numbers may be packed into one field. */
function requireNumbers(field: MessageField, { bytes, from, to, wire }: Fields, expected: number): void {
  if (!field.isRepeated || wire !== delimited) requireWire(field, wire, expected);
  else if (expected === fixed64 && (to - from) % 8 !== 0) throw malformed(`${field.name} ends within a number`);
  else if (expected === varint) for (let at = from; at < to; at = varintEnd(bytes, at, to));
}

function requireWire({ name }: MessageField, wire: number, expected: number): void {
  if (wire !== expected) throw malformed(`${name} has the wire type ${wire}, and not ${expected}`);
}
