/**
 * Turns a JSON document into lines, in place: an array becomes its elements, and values that follow one another stay in
 * their order. A line break within a value becomes a space, which means the same there. What is inside a value is left
 * to the engine.
 */
import { AppError } from "../../../lib/errors.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;
const space = 0x20;

export class JsonValues {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The whole document is an array. */
  #isArray = false;
  #isOver = false;
  #isBegun = false;
  /** A value has begun and its line has not ended. */
  #isOpen = false;
  #isComplete = false;

  /** The same bytes with the ends of lines after values only. Throws INVALID_JSON. */
  lines(bytes: Buffer): Buffer {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (this.#inString) this.#inside(byte);
      else if (this.#depth > 0) this.#nested(bytes, at, byte);
      else this.#outside(bytes, at, byte);
    }
    return bytes;
  }

  /** After the last byte. Throws INVALID_JSON for a document that ends too soon. */
  end(): void {
    if (this.#depth > 0 || this.#inString || (this.#isArray && !this.#isOver)) {
      throw new AppError("INVALID_JSON", "The JSON document ends within a value.");
    }
  }

  #inside(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#inString = false;
    else if (byte === newline) throw new AppError("INVALID_JSON", "A string of the JSON document has a line break.");
    if (!this.#inString && this.#depth === 0) this.#isComplete = true;
  }

  #nested(bytes: Buffer, at: number, byte: number): void {
    if (byte === quote) this.#inString = true;
    else if (isOpening(byte)) this.#depth += 1;
    else if (isClosing(byte)) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#isComplete = true;
    } else if (byte === newline || byte === 0x0d) bytes[at] = space;
  }

  /** Between values: of the array, or of the document. */
  #outside(bytes: Buffer, at: number, byte: number): void {
    if (isSpace(byte)) {
      bytes[at] = this.#isOpen && !this.#isArray ? this.#endLine() : space;
      return;
    }
    if (this.#isOver) throw new AppError("INVALID_JSON", "Something follows the JSON array.");
    if (!this.#isBegun) {
      this.#isBegun = true;
      this.#isArray = byte === 0x5b;
      if (this.#isArray) {
        bytes[at] = space;
        return;
      }
    }
    if (byte === comma) bytes[at] = this.#isOpen ? this.#endLine() : space;
    else if (this.#isArray && byte === 0x5d) {
      bytes[at] = this.#isOpen ? this.#endLine() : space;
      this.#isOver = true;
    } else this.#begin(byte);
  }

  #begin(byte: number): void {
    if (this.#isOpen && this.#isComplete) {
      throw new AppError("INVALID_JSON", "Two JSON values follow one another without a line break between them.");
    }
    this.#isOpen = true;
    if (byte === quote) this.#inString = true;
    else if (isOpening(byte)) this.#depth = 1;
    else if (isClosing(byte)) throw new AppError("INVALID_JSON", "A bracket of the JSON document has no beginning.");
  }

  #endLine(): number {
    this.#isOpen = false;
    this.#isComplete = false;
    return newline;
  }
}

function isOpening(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b;
}

function isClosing(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d;
}

function isSpace(byte: number): boolean {
  return byte === space || byte === newline || byte === 0x0d || byte === 0x09;
}
