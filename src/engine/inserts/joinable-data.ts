/**
 * Data of an INSERT as a piece of a larger text, which the engine reads as the same rows that it reads of the piece
 * alone. So a piece must end where a row ends, whatever it contains: a quote that stays open would take the rows of
 * another client for a part of its value. What is not certain is not a piece, and inserted alone.
 *
 * Texts are latin1 strings: one character is one byte, and no byte of a UTF-8 sequence is an ASCII character.
 */

import { nativeRows } from "./native-rows.ts";

export type Piece = {
  readonly data: Buffer;
  readonly rows: number;
  /** Only pieces of the same shape make one text: names and types of columns, where the data has them. */
  readonly shape?: string;
};

type Form = {
  /** The number of rows; undefined when the text is not a piece. */
  readonly rows: (text: string) => number | undefined;
  readonly separator: string;
};

/** Marks, space and values without quotes. */
const plainJson = "[^\"{}\\[\\]']+";
/** With a setting for bad escapes, the engine takes the quote behind half a character for the end of the text. */
const escaped =
  '\\\\(?:["\\\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2})';
const string = `"[^"\\\\]*(?:${escaped}[^"\\\\]*)*"`;
/** The longest part without a bracket. */
const jsonPart = new RegExp(`(?:${string}|${plainJson})+`, "y");
const jsonGap = /[ \t\r\n]*/y;
const csvField = /[ \t]*(?:"[^"]*(?:""[^"]*)*"[ \t]*|(?!['" \t])[^,\r\n]*)(,|\r?\n|$)/y;
/** Texts with escapes of one character, literals and names; no comment, heredoc, quoted name or parameter. */
const valuesPart =
  /(?:'[^'\\]*(?:(?:\\[\\'"`/bfnrt0%_]|'')[^'\\]*)*'|[A-Za-z0-9_.+*:<>=!% \t\r\n,]+|-(?!-)|\/(?![/*]))+/y;
const valuesGap = /[ \t\r\n]*,?[ \t\r\n]*/y;

const objects: Form = { rows: (text) => bracketed(text, { open: "{", part: jsonPart, gap: jsonGap }), separator: "\n" };
const arrays: Form = { rows: (text) => bracketed(text, { open: "[", part: jsonPart, gap: jsonGap }), separator: "\n" };
const lines: Form = { rows: linesOf, separator: "" };
const forms: Readonly<Record<string, Form>> = {
  jsoneachrow: objects,
  jsonlines: objects,
  ndjson: objects,
  jsonstringseachrow: objects,
  jsoncompacteachrow: arrays,
  jsoncompactstringseachrow: arrays,
  tsv: lines,
  tabseparated: lines,
  csv: { rows: csvRows, separator: "" },
  values: { rows: (text) => bracketed(text, { open: "(", part: valuesPart, gap: valuesGap }), separator: "," },
};

/** The data as a piece; undefined when it must be inserted alone. */
export function pieceOf(format: string, data: Buffer): Piece | undefined {
  if (/^native$/i.test(format)) {
    const found = nativeRows(data);
    return found === undefined || found.rows === 0 ? undefined : { data, ...found };
  }
  const form = formOf(format);
  if (form === undefined) return undefined;
  const text = data.toString("latin1");
  const whole = format.toLowerCase() === "values" ? text.replace(/;\s*$/, "") : text;
  const rows = form.rows(whole);
  if (rows === undefined || rows === 0) return undefined;
  const ended = form.separator !== "" || whole.endsWith("\n") ? whole : `${whole}\n`;
  return { data: ended === text ? data : Buffer.from(ended, "latin1"), rows };
}

/** The text of all pieces. */
export function joined(format: string, pieces: readonly Piece[]): Buffer {
  const separator = Buffer.from(formOf(format)?.separator ?? "");
  return Buffer.concat(pieces.flatMap(({ data }, at) => (at === 0 ? [data] : [separator, data])));
}

function formOf(format: string): Form | undefined {
  const name = format.toLowerCase();
  return Object.hasOwn(forms, name) ? forms[name] : undefined;
}

type Brackets = { readonly open: string; readonly part: RegExp; readonly gap: RegExp };
const closing: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": ")" };

/** Rows that are brackets, with gaps between them. The time is linear. */
function bracketed(text: string, { open, part, gap }: Brackets): number | undefined {
  const expected: string[] = [];
  let rows = 0;
  for (let at = after(gap, text, 0) ?? 0; at < text.length; ) {
    const character = text[at] as string;
    if (expected.length === 0 && character !== open) return undefined;
    const close = closing[character];
    if (close !== undefined) expected.push(close);
    else if (character === expected.at(-1)) {
      expected.pop();
      if (expected.length === 0) rows += 1;
    } else {
      const end = after(part, text, at);
      if (end === undefined) return undefined;
      at = end;
      continue;
    }
    at += 1;
    if (expected.length === 0) at = after(gap, text, at) ?? at;
  }
  // A comma that nothing follows would separate this piece from the next twice.
  return expected.length > 0 || /,\s*$/.test(text) || /^\s*,/.test(text) ? undefined : rows;
}

/** A backslash at the end of a line may take the line break for a part of its escape, as an `x` without digits may. */
function linesOf(text: string): number | undefined {
  if (/\\(?:\r?\n|$|x(?![0-9a-fA-F]{2}))/.test(text)) return undefined;
  let rows = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) rows += 1;
  return text === "" || text.endsWith("\n") ? rows : rows + 1;
}

/** A field that does not begin with a quote ends with the line. */
function csvRows(text: string): number | undefined {
  let rows = 0;
  for (let at = 0; at < text.length; at = csvField.lastIndex) {
    csvField.lastIndex = at;
    const found = csvField.exec(text);
    if (found === null) return undefined;
    if (found[1] === ",") {
      if (csvField.lastIndex === text.length) return undefined;
    } else rows += 1;
  }
  return rows;
}

function after(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
