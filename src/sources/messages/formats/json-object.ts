/**
 * Finds the end of a JSON object. Rows are concatenated for the engine's parser, so a message must not be able to break
 * out of its row: it must be exactly one object, with brackets and strings closed. Everything inside (types, numbers,
 * names) is left to the engine.
 */

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The engine refuses deeper nesting too. */
const maxDepth = 1000;

/** The index of the first byte of `bytes[start, end)` that is not white space; `end` when there is none. */
export function afterSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(bytes[at] as number)) at += 1;
  return at;
}

/**
 * The index after the object that opens at `from`; -1 unless it is one object followed only by white space up to `end`.
 */
export function objectEnd(bytes: Uint8Array, from: number, end: number): number {
  let to = end;
  while (to > from && isSpace(bytes[to - 1] as number)) to -= 1;
  if (bytes[from] !== openBrace || bytes[to - 1] !== closeBrace || to - from < 2) return -1;
  return closesAt(bytes, from, to) === to ? to : -1;
}

/** Open brackets that fit into the bits of one number. */
const flatDepth = 30;

/** The index after the bracket that closes the one at `from`; -1 when there is none before `end`. */
function closesAt(bytes: Uint8Array, from: number, end: number): number {
  let depth = 0;
  /** The innermost open bracket is the lowest bit: 1 for a brace. */
  let open = 0;
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) {
      at = stringEnd(bytes, at, end);
      if (at < 0) return -1;
    } else if (byte === openBrace || byte === openBracket) {
      if (depth === flatDepth) return deepClosesAt(bytes, from, end);
      depth += 1;
      open = (open << 1) | (byte === openBrace ? 1 : 0);
    } else if (byte === closeBrace || byte === closeBracket) {
      if ((open & 1) !== (byte === closeBrace ? 1 : 0)) return -1;
      depth -= 1;
      if (depth === 0) return at + 1;
      open >>>= 1;
    }
  }
  return -1;
}
/** The same for any depth. */
function deepClosesAt(bytes: Uint8Array, from: number, end: number): number {
  const open: number[] = [];
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) {
      at = stringEnd(bytes, at, end);
      if (at < 0) return -1;
    } else if (byte === openBrace || byte === openBracket) {
      if (open.length === maxDepth) return -1;
      open.push(byte === openBrace ? closeBrace : closeBracket);
    } else if (byte === closeBrace || byte === closeBracket) {
      if (open.pop() !== byte) return -1;
      if (open.length === 0) return at + 1;
    }
  }
  return -1;
}

/** Bytes of a string that are checked one by one before a call of the runtime's search pays off. */
const shortString = 24;

/** The index of the quote that closes the string opened at `from`; -1 when it is not closed. */
function stringEnd(bytes: Uint8Array, from: number, end: number): number {
  const near = Math.min(end, from + shortString);
  let at = from + 1;
  for (; at < near; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at;
    if (byte === backslash) at += 1;
  }
  // No escaping backslash precedes `at`: an escaped byte has been skipped.
  for (let found = bytes.indexOf(quote, at); found >= 0 && found < end; found = bytes.indexOf(quote, found + 1)) {
    let escapes = 0;
    while (found - escapes > at && bytes[found - escapes - 1] === backslash) escapes += 1;
    if (escapes % 2 === 0) return found;
  }
  return -1;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** True when the object that opens at `from` has no members. */
export function closesRightAway(bytes: Uint8Array, from: number): boolean {
  let at = from + 1;
  while (isSpace(bytes[at] as number)) at += 1;
  return bytes[at] === closeBrace;
}
