/** A JSON text that is read from its beginning to its end, one value after the other, as its reader expects them. */
import { AppError } from "../../../lib/errors.ts";

/** A number is its text, which has all of its digits. `undefined` stands for an object or a list. */
export type Scalar = string | boolean | null | undefined | { readonly number: string };

const quote = 0x22;
const backslash = 0x5c;
const literals = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;
/** A body may have millions of them. */
const digits = Array.from({ length: 10 }, (_, digit) => ({ number: String(digit) }));
const numberForm = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** Every method throws INVALID_JSON where the text is not JSON. */
export class JsonText {
  /** In UTF-8. */
  readonly #bytes: Buffer;
  #at = 0;
  /** An object or a list has been opened, and nothing of it was read. */
  #isFirst = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Enters the object or the list that is next; false where something else is. */
  opens(bracket: "{" | "["): boolean {
    if (this.#next() !== bracket.charCodeAt(0)) return false;
    this.#at += 1;
    this.#isFirst = true;
    return true;
  }

  /** Whether a member or an element follows; if none does, the object or the list is left. */
  hasNext(bracket: "}" | "]"): boolean {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (this.#next() === bracket.charCodeAt(0)) {
      this.#at += 1;
      return false;
    }
    if (!isFirst) this.#pass(0x2c);
    return true;
  }

  /** The name of a member; its value is next. */
  name(): string {
    if (this.#next() !== quote) throw invalid();
    const name = this.#string();
    this.#next();
    this.#pass(0x3a);
    return name;
  }

  isNull(): boolean {
    return this.#next() === 0x6e;
  }

  /** An object or a list is undefined, and not passed. */
  scalar(): Scalar {
    const byte = this.#next();
    if (byte === quote) return this.#string();
    if (byte === 0x7b || byte === 0x5b) return undefined;
    const from = this.#at;
    while (isOfWord(this.#bytes[this.#at])) this.#at += 1;
    const digit = this.#at === from + 1 ? digits[(byte as number) - 0x30] : undefined;
    if (digit !== undefined) return digit;
    const word = this.#bytes.toString("latin1", from, this.#at);
    if (numberForm.test(word)) return { number: word };
    const literal = literals.find(([text]) => text === word);
    if (literal === undefined) throw invalid();
    return literal[1];
  }

  /** Passes the next value, with at most so many objects and lists within one another. */
  skip(levels: number): void {
    if (this.scalar() !== undefined) return;
    if (levels === 0)
      throw new AppError("BAD_REQUEST", "A member that OTLP does not have is nested in too many levels.");
    if (this.opens("[")) {
      while (this.hasNext("]")) this.skip(levels - 1);
    } else if (this.opens("{")) {
      while (this.hasNext("}")) {
        this.name();
        this.skip(levels - 1);
      }
    }
  }

  end(): void {
    if (this.#next() !== undefined) throw invalid();
  }

  /** The byte after white space. */
  #next(): number | undefined {
    const bytes = this.#bytes;
    for (;;) {
      const byte = bytes[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at += 1;
    }
  }

  #pass(byte: number): void {
    if (this.#bytes[this.#at] !== byte) throw invalid();
    this.#at += 1;
  }

  #string(): string {
    const bytes = this.#bytes;
    const from = this.#at + 1;
    let isEscaped = false;
    let isAscii = true;
    let at = from;
    for (; bytes[at] !== quote; at += 1) {
      const byte = bytes[at];
      if (byte === undefined || byte < 0x20) throw invalid();
      if (byte > 0x7f) isAscii = false;
      else if (byte === backslash) {
        isEscaped = true;
        at += 1;
      }
    }
    this.#at = at + 1;
    if (!isEscaped) return bytes.toString(isAscii ? "latin1" : "utf8", from, at);
    try {
      return JSON.parse(bytes.toString("utf8", from - 1, at + 1)) as string;
    } catch (cause) {
      throw invalid(cause);
    }
  }
}

/** Whether a number or a literal can contain the byte. */
function isOfWord(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return isDigit || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || (byte >= 0x61 && byte <= 0x7a);
}

function invalid(cause?: unknown): AppError {
  return new AppError("INVALID_JSON", "The body is not a JSON document.", { cause });
}
