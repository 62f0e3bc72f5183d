/**
 * Where rows end in the bytes of a body. Requests count rows with it, and the worker finds the same rows again: an
 * offset is the number of a row in this sense. Rows of several bodies become one statement, so a row must not be able
 * to continue in the next: what the engine would read as one row is one here.
 */

const newline = 0x0a;
const quote = 0x22;
const backslash = 0x5c;

/**
 * A row is a line that is not blank. `quoted`: line ends within quotes that begin a field do not end it; `escaped`:
 * those after a backslash do not.
 */
export type RowForm =
  | { readonly kind: "lines" | "escaped" }
  | {
      readonly kind: "quoted";
      /** Code of the character between fields. */
      readonly delimiter: number;
    };

export class RowScanner {
  readonly #form: RowForm;
  #inQuotes = false;
  /** Only spaces since the beginning of the field. */
  #isFieldStart = true;
  #hasJustClosed = false;
  #isEscaped = false;
  #hasContent = false;
  #rowStart = 0;

  constructor(form: RowForm) {
    this.#form = form;
  }

  /** True when the bytes so far end within a row. */
  get isWithin(): boolean {
    return this.#hasContent;
  }

  /** True when a line end after them would not end the row. */
  get isUnclosed(): boolean {
    return this.#inQuotes || this.#isEscaped;
  }

  /** Where the row that `next` has found begins; 0 when it has begun in bytes before. */
  get rowStart(): number {
    return this.#rowStart;
  }

  /** The index after the end of the next row that is not blank; -1 when the bytes end before it. */
  next(bytes: Buffer, from: number): number {
    let start = from;
    for (;;) {
      const end = this.#lineEnd(bytes, start);
      const to = end < 0 ? bytes.length : end;
      this.#rowStart = start;
      this.#hasContent ||= !isBlank(bytes, start, to);
      if (end < 0) return -1;
      start = end + 1;
      if (!this.#hasContent) continue;
      this.#hasContent = false;
      return start;
    }
  }

  #lineEnd(bytes: Buffer, from: number): number {
    const form = this.#form;
    if (form.kind === "quoted") return this.#unquoted(bytes, from, form.delimiter);
    return form.kind === "escaped" ? this.#unescaped(bytes, from) : bytes.indexOf(newline, from);
  }

  #unescaped(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === newline && !this.#isEscaped) return at;
      this.#isEscaped = byte === backslash && !this.#isEscaped;
    }
    return -1;
  }

  #unquoted(bytes: Buffer, from: number, delimiter: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (this.#inQuotes) {
        if (byte !== quote) continue;
        this.#inQuotes = false;
        this.#hasJustClosed = true;
        continue;
      }
      if (byte === quote && (this.#isFieldStart || this.#hasJustClosed)) this.#inQuotes = true;
      const isEnd = byte === newline;
      this.#hasJustClosed = false;
      this.#isFieldStart = isEnd || byte === delimiter || (this.#isFieldStart && (byte === 0x20 || byte === 0x09));
      if (isEnd) return at;
    }
    return -1;
  }
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d && byte !== newline) return false;
  }
  return true;
}
