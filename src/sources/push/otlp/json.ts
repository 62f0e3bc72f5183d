/** A request in JSON as the same request in Protobuf: what is kept, and read later, has one form. */
import { AppError } from "../../../lib/errors.ts";
import { deepest } from "./inspect.ts";
import { type Message, type MessageField, type Signal, signals } from "./messages.ts";
import { fixed32, fixed64, MessageWriter } from "./wire.ts";

/** Throws INVALID_JSON, or BAD_REQUEST that names the member. */
export function fromJson(signal: Signal, body: Buffer): Buffer {
  let document: unknown;
  try {
    document = JSON.parse(body.toString());
  } catch (cause) {
    throw new AppError("INVALID_JSON", "The body is not a JSON document.", { cause });
  }
  return encodedMessage(signals[signal].request, document, "", 0);
}

/** Members that are not known, and those without a value, are left out. */
function encodedMessage(message: Message, value: unknown, path: string, depth: number): Buffer {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(path, "must be an object");
  if (depth > deepest) throw wrong(path, `has values within values in more than ${deepest} levels`);
  const to = new MessageWriter();
  for (const [name, member] of Object.entries(value)) {
    const field = message.byName.get(name);
    if (field === undefined || member === null) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (!field.isRepeated) add(to, field, member, at, depth);
    else if (Array.isArray(member)) {
      for (const [index, one] of member.entries()) add(to, field, one, `${at}[${index}]`, depth);
    } else throw wrong(at, "must be an array");
  }
  return to.content();
}

function add(to: MessageWriter, field: MessageField, value: unknown, path: string, depth: number): void {
  const { number } = field;
  switch (field.kind) {
    case "message":
      to.bytes(number, encodedMessage(field.message, value, path, depth + 1));
      return;
    case "string":
      to.text(number, textOf(value, path));
      return;
    case "bytes":
      to.bytes(number, decoded(textOf(value, path), "base64", path));
      return;
    case "traceId":
    case "spanId":
      to.bytes(number, decoded(textOf(value, path), "hex", path));
      return;
    case "bool":
      if (typeof value !== "boolean") throw wrong(path, "must be true or false");
      to.varint(number, value ? 1n : 0n);
      return;
    case "double":
      to.fixed(number, fixed64, doubleOf(value, path));
      return;
    case "fixed32":
      to.fixed(number, fixed32, littleEndian(integerOf(value, path), 4));
      return;
    case "time":
    case "fixed64":
    case "sfixed64":
      to.fixed(number, fixed64, littleEndian(integerOf(value, path), 8));
      return;
    case "sint32":
      to.varint(number, zigzag(integerOf(value, path)));
      return;
    default:
      to.varint(number, integerOf(value, path));
  }
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== "string") throw wrong(path, "must be a string");
  return value;
}

const forms = { hex: /^([0-9a-f]{2})*$/i, base64: /^[A-Za-z0-9+/_-]*={0,2}$/ };

function decoded(text: string, form: keyof typeof forms, path: string): Buffer {
  if (!forms[form].test(text)) throw wrong(path, `must be ${form === "hex" ? "hexadecimal digits" : "base64"}`);
  return Buffer.from(text, form);
}

/** 64-bit numbers are written as strings too. */
function integerOf(value: unknown, path: string): bigint {
  const isNumber = typeof value === "number" && Number.isInteger(value);
  if (!isNumber && !(typeof value === "string" && /^-?\d{1,20}$/.test(value))) {
    throw wrong(path, "must be an integer, as a number or a string");
  }
  const integer = BigInt(value as string | number);
  if (integer < -(2n ** 63n) || integer >= 2n ** 64n) throw wrong(path, "has more than 64 bits");
  return integer;
}

function doubleOf(value: unknown, path: string): Buffer {
  const special = typeof value === "string" && /^(NaN|-?Infinity|-?\d+(\.\d+)?([eE][-+]?\d+)?)$/.test(value);
  if (typeof value !== "number" && !special) throw wrong(path, "must be a number");
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(Number(value));
  return bytes;
}

function littleEndian(value: bigint, bytes: 4 | 8): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt.asUintN(bytes * 8, value));
  return buffer.subarray(0, bytes);
}

function zigzag(value: bigint): bigint {
  return value < 0n ? -value * 2n - 1n : value * 2n;
}

function wrong(path: string, problem: string): AppError {
  return new AppError("BAD_REQUEST", `The body is not an OTLP message in JSON: ${path || "it"} ${problem}.`);
}
