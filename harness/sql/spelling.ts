/** The many ways to spell the same SQL: quotes, escapes, heredocs, digits, comments, white space. */
import type { Dice } from "../random.ts";

/** A text literal with this content, spelled in a random way. Contents are ASCII. */
export function literal(dice: Dice, text: string): string {
  const way = dice.below(8);
  if (way === 0) return `x'${Buffer.from(text).toString("hex")}'`;
  if (way === 1) return `b'${digits(text)}'`;
  if (way === 2 && !text.includes("$q$")) return `$q$${text}$q$`;
  if (way === 3 && !/['\\\u2019]/.test(text)) return `\u2018${text}\u2019`;
  return `'${escaped(dice, text, "'")}'`;
}

/** A name, bare or in one of the engine's quotes. */
export function name(dice: Dice, text: string): string {
  const way = dice.below(10);
  if (way === 0) return `"${escaped(dice, text, '"')}"`;
  if (way === 1 && !/[\u201d\\]/.test(text)) return `\u201c${text}\u201d`;
  if (way <= 3 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) return `\`${escaped(dice, text, "`")}\``;
  return text;
}

const hidden = ["file('x')", "'", "`", '"', "}", "*/", "--", "INTO OUTFILE", "$q$", "; SELECT 1", "\u2018", "/*"];

/** Space between two words: usually one blank, otherwise comments and unusual white space. */
export function space(dice: Dice): string {
  const way = dice.below(24);
  if (way === 0) return ` /* ${dice.pick(hidden).replace("/*", "").replace("*/", "")} */ `;
  if (way === 1) return ` -- ${dice.pick(hidden)}\n`;
  if (way === 2) return ` # ${dice.pick(hidden)}\n`;
  if (way === 3) return ` // ${dice.pick(hidden)}\n`;
  if (way === 4) return " /* /* */ ' */ ";
  if (way === 5) return dice.pick(["\t", "\n", "\r\n", "\v", "\f", "\u00a0", "\u2003", "\u3000"]);
  return " ";
}

function digits(text: string): string {
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return bits.replace(/^0+/, "");
}

/** Some characters as escapes, and occasionally an escape without a meaning. */
function escaped(dice: Dice, text: string, quote: string): string {
  const often = dice.chance(0.3) ? 0.2 : 0;
  const parts = [...text].map((char) => {
    if (char === quote) return dice.chance(0.5) ? quote + quote : `\\${quote}`;
    if (char === "\\") return "\\\\";
    if (dice.chance(often) && char <= "\x7f") return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
    return dice.chance(often / 4) ? `\\N${char}` : char;
  });
  return parts.join("");
}

const pieces = [
  ..."' ` \" \\ \\N \\x66 {a:String} {f:Identifier} { } ( ) , ; $q$ $$ /* */ -- # // \u2018 \u2019 \u201c \u201d -> :: . * % ? @ \0".split(
    " ",
  ),
  ..." \n \u00a0 x'66' b'1 file file( 'file' `file` INTO OUTFILE 'x' FROM INFILE 'x' FORMAT SETTINGS UNION ALL SELECT".split(
    " ",
  ),
  " INTO OUTFILE '/dev/null' ",
  " SETTINGS format_schema = 'x' ",
  " DEFAULT file('x') ",
  "\xff",
];

/** The text with a few random changes: parts inserted, removed, duplicated, or copied from elsewhere. */
export function mutated(dice: Dice, text: string): string {
  let changed = text;
  for (let n = 1 + dice.below(3); n > 0; n -= 1) {
    const at = dice.below(changed.length + 1);
    const to = Math.min(changed.length, at + 1 + dice.below(8));
    const way = dice.below(5);
    if (way <= 1) changed = changed.slice(0, at) + dice.pick(pieces) + changed.slice(at);
    else if (way === 2) changed = changed.slice(0, at) + changed.slice(to);
    else if (way === 3) changed = changed.slice(0, to) + changed.slice(at);
    else {
      const from = dice.below(changed.length + 1);
      changed = changed.slice(0, at) + changed.slice(from, from + 12) + changed.slice(at);
    }
  }
  return changed;
}
