/** Text for a terminal: widths, cutting, colour, and values in words. */
import { stripVTControlCharacters, styleText } from "node:util";

/** Characters that fill two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Control characters, and characters that end a line or reverse the order of what follows. */
const steering = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Control characters become visible escapes: text of a server or a table cannot steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(steering, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** The same for text of several lines: line ends and tabs stay, and escapes are those of JSON, which stays JSON. */
export function harmless(text: string): string {
  return text.replaceAll(steering, (character) =>
    character === "\n" || character === "\t"
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Columns that the text fills. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += widthOfCharacter(character);
  return width;
}

function widthOfCharacter(character: string): number {
  if (/^[\u0020-\u007e]$/.test(character)) return 1;
  if (/^(?:\p{M}|\p{Cf})$/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** The text in at most `width` columns, with an ellipsis where it is cut. The text has no escape sequences. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += widthOfCharacter(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

export type Style = "green" | "yellow" | "red" | "bold" | "dim" | "cyan";

/** The text in a colour, if `on`. */
export function styled(text: string, style: Style | undefined, on: boolean): string {
  return on && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
}

const good = ["running", "Running", "Completed", "Snapshot", "done", "passed", "enabled", "ok", "OK"];
const bad = ["failed", "Failed", "InternalError", "error", "fail", "ALERT"];
const unclear = ["degraded", "Degraded", "warn", "pending", "in_progress", "Paused", "INSUFFICIENT_DATA"];

/** The colour of a state. */
export function stateStyle(state: string): Style | undefined {
  if (good.includes(state)) return "green";
  if (bad.includes(state)) return "red";
  return unclear.includes(state) ? "yellow" : undefined;
}

const steps: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
];

/** A duration in its largest unit: `12s`, `5m`, `3h`, `40d`. */
export function span(seconds: number): string {
  const found = steps.find(([size]) => seconds >= size * 1.5);
  return found === undefined ? `${Math.max(0, Math.round(seconds))}s` : `${Math.round(seconds / found[0])}${found[1]}`;
}

/** The time since an ISO time, or `-`. */
export function age(time: string | null | undefined, now = Date.now()): string {
  if (time === undefined || time === null) return "-";
  const seconds = (now - Date.parse(time)) / 1000;
  return seconds < -1 ? `in ${span(-seconds)}` : span(seconds);
}

/** A size with a binary unit, or `-`. */
export function byteSize(bytes: number | null | undefined): string {
  if (bytes === undefined || bytes === null) return "-";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A count with thousands separated, or `-`. */
export function count(value: number | null | undefined): string {
  return value === undefined || value === null ? "-" : Math.round(value).toLocaleString("en-US");
}

/** A number with its unit to two significant digits below 10, or `-`. */
export function decimal(value: number | null | undefined, unit = ""): string {
  if (value === undefined || value === null) return "-";
  return `${value >= 10 ? Math.round(value) : Number(value.toPrecision(2))}${unit}`;
}

/** A text, or `-` for nothing. */
export function orDash(value: unknown): string {
  return value === undefined || value === null || value === "" ? "-" : String(value);
}
