/**
 * A request in JSON as the same request in Protobuf: what is kept, and read later, has one form. The text is read once,
 * without a document in memory: a small body that decompresses to millions of values would otherwise stop the whole
 * server, and integers of 64 bits would lose their last digits.
 */
import { isUtf8 } from "node:buffer";
import { AppError } from "../../../lib/errors.ts";
import { deepest, tooDeep } from "./inspect.ts";
import { JsonText, type Scalar } from "./json-text.ts";
import { MessageWriter } from "./message-writer.ts";
import { type Message, type MessageField, type Signal, signals } from "./messages.ts";

/** Throws INVALID_JSON, BAD_REQUEST that names the member, and PAYLOAD_TOO_LARGE when the result would be larger. */
export function fromJson(signal: Signal, body: Buffer, mostBytes?: number): Buffer {
  const conversion = new Conversion(isUtf8(body) ? body : Buffer.from(body.toString()), mostBytes);
  return conversion.request(signals[signal].request);
}

class Conversion {
  readonly #text: JsonText;
  readonly #to: MessageWriter;
  /** Where the value that is read is in the document: names of members, and places in lists. */
  readonly #path: (string | number)[] = [];

  constructor(body: Buffer, mostBytes?: number) {
    this.#text = new JsonText(body);
    this.#to = new MessageWriter(body.length, mostBytes);
  }

  request(message: Message): Buffer {
    this.#message(message, 0);
    this.#text.end();
    return this.#to.content();
  }

  /** Members that are not known, and those without a value, are left out. */
  #message(message: Message, depth: number): void {
    if (!this.#text.opens("{")) throw this.#wrong("must be an object");
    if (depth > deepest) throw this.#wrong(`is ${tooDeep}`);
    while (this.#text.hasNext("}")) {
      const name = this.#text.name();
      const field = message.byName.get(name);
      if (field === undefined || this.#text.isNull()) {
        this.#text.skip(deepest);
        continue;
      }
      this.#path.push(name);
      if (field.isRepeated) this.#list(field, depth);
      else this.#value(field, depth);
      this.#path.pop();
    }
  }

  #list(field: MessageField, depth: number): void {
    if (!this.#text.opens("[")) throw this.#wrong("must be an array");
    for (let index = 0; this.#text.hasNext("]"); index += 1) {
      this.#path.push(index);
      this.#value(field, depth);
      this.#path.pop();
    }
  }

  #value(field: MessageField, depth: number): void {
    if (field.kind !== "message") {
      this.#leaf(field);
      return;
    }
    const start = this.#to.open(field.number);
    this.#message(field.message, depth + 1);
    this.#to.close(start);
  }

  #leaf({ number, kind }: MessageField): void {
    const value = this.#text.scalar();
    switch (kind) {
      case "string":
        this.#to.bytes(number, this.#textOf(value));
        return;
      case "bytes":
        this.#to.bytes(number, this.#decoded(value, "base64"));
        return;
      case "traceId":
      case "spanId":
        this.#to.bytes(number, this.#decoded(value, "hex"));
        return;
      case "bool":
        if (typeof value !== "boolean") throw this.#wrong("must be true or false");
        this.#to.varint(number, value ? 1n : 0n);
        return;
      case "double":
        this.#to.fixed64(number, this.#doubleOf(value));
        return;
      case "fixed32":
        this.#to.fixed32(number, this.#integerOf(value, integers.uint32));
        return;
      case "sfixed64":
        this.#to.fixed64(number, this.#integerOf(value, integers.int64));
        return;
      case "time":
      case "fixed64":
        this.#to.fixed64(number, this.#integerOf(value, integers.uint64));
        return;
      case "sint32":
        this.#to.varint(number, zigzag(this.#integerOf(value, integers.int32)));
        return;
      case "int64":
        this.#to.varint(number, this.#integerOf(value, integers.int64));
        return;
      case "uint64":
        this.#to.varint(number, this.#integerOf(value, integers.uint64));
        return;
      default:
        // Enumerations have a sign.
        this.#to.varint(number, this.#integerOf(value, integers.any32));
    }
  }

  #textOf(value: Scalar): string {
    if (typeof value !== "string") throw this.#wrong("must be a string");
    return value;
  }

  #decoded(value: Scalar, form: keyof typeof forms): Buffer {
    const text = this.#textOf(value);
    const isHalf = form === "hex" && text.length % 2 === 1;
    if (isHalf || !forms[form].test(text))
      throw this.#wrong(`must be ${form === "hex" ? "hexadecimal digits" : "base64"}`);
    return Buffer.from(text, form);
  }

  /** 64-bit numbers are written as strings too. */
  #integerOf(value: Scalar, { least, most }: Integers): bigint {
    const digits = typeof value === "object" ? value?.number : value;
    const isWritten = typeof digits === "string" && /^-?\d{1,20}$/.test(digits);
    // A number such as 1e3.
    const isNumber = typeof value === "object" && Number.isInteger(Number(digits));
    if (!isWritten && !isNumber) throw this.#wrong("must be an integer, as a number or a string");
    const integer = BigInt(isWritten ? digits : Number(digits));
    if (integer < least || integer > most) throw this.#wrong(`must be an integer from ${least} to ${most}`);
    return integer;
  }

  #doubleOf(value: Scalar): number {
    if (typeof value === "object" && value !== null) return Number(value.number);
    if (typeof value === "string" && /^(NaN|-?Infinity|-?\d+(\.\d+)?([eE][-+]?\d+)?)$/.test(value))
      return Number(value);
    throw this.#wrong("must be a number");
  }

  #wrong(problem: string): AppError {
    const path = this.#path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
    return new AppError("BAD_REQUEST", `The body is not an OTLP message in JSON: ${path.slice(1) || "it"} ${problem}.`);
  }
}

const forms = { hex: /^[0-9a-f]*$/i, base64: /^[A-Za-z0-9+/_-]*={0,2}$/ };

type Integers = { readonly least: bigint; readonly most: bigint };
const integers = {
  int32: { least: -(2n ** 31n), most: 2n ** 31n - 1n },
  uint32: { least: 0n, most: 2n ** 32n - 1n },
  any32: { least: -(2n ** 31n), most: 2n ** 32n - 1n },
  int64: { least: -(2n ** 63n), most: 2n ** 63n - 1n },
  uint64: { least: 0n, most: 2n ** 64n - 1n },
} satisfies Record<string, Integers>;

function zigzag(value: bigint): bigint {
  return value < 0n ? -value * 2n - 1n : value * 2n;
}
