/**
 * Whole words in text. A word is a run of letters, marks and digits of any script. Scripts that write no spaces have no
 * such runs: there every character may begin or end a word.
 */
import type { Params } from "../columns/params.ts";

/** Scripts that do not separate words. */
const unspaced = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"];
const wordCharacter = /[\p{L}\p{M}\p{N}]/u;
const unspacedCharacter = new RegExp(`[${unspaced.map((script) => `\\p{Script=${script}}`).join("")}]`, "u");

/** What the engine's pattern has for a character that is not part of a word. */
const outside = `[^\\pL\\pM\\pN]|[${unspaced.map((script) => `\\p{${script}}`).join("")}]`;
const outsideAscii = "[^a-z0-9]";

type Text = {
  /** The text that is searched. */
  readonly sql: string;
  /** Whether the table has an index of the words of this text. */
  readonly indexed: boolean;
};

/**
 * The condition that the text holds `plain`, case aside, not as a part of longer words. Text of ASCII alone, which most
 * logs are, is searched without a pattern of Unicode classes: these take ten times as long.
 */
export function holdsWords({ sql, indexed }: Text, plain: string, params: Params): string {
  const ascii = /^[\0-\x7f]*$/.test(plain);
  const [before, after] = [needsEdge(plain.at(0)), needsEdge([...plain].at(-1))];
  const contained = contains(sql, plain, ascii, params);
  const tokens =
    ascii && indexed ? tokensOf(plain).map((word) => `hasToken(lower(${sql}), ${params.bind(word, "String")})`) : [];
  if (!before && !after) return joined([...tokens, contained]);
  const unicode = `match(${sql}, ${params.bind(`(?i)${pattern(plain, outside, before, after)}`, "String")})`;
  if (!ascii) return joined([contained, unicode]);
  // An index knows words by what stands between ASCII characters; asking it is worth more than a finer edge.
  if (tokens.length === 1 && tokensOf(plain)[0] === plain.toLowerCase()) return tokens[0] as string;
  if (/^[A-Za-z0-9]+$/.test(plain)) {
    const token = `hasToken(lower(${sql}), ${params.bind(plain.toLowerCase(), "String")})`;
    // Most text does not contain the letters at all and needs no further test.
    return `(${contained} AND (${token} OR (NOT isValidASCII(${sql}) AND ${unicode})))`;
  }
  const own = pattern(plain.toLowerCase(), outsideAscii, before, after);
  const plainly = `match(lower(${sql}), ${params.bind(own, "String")})`;
  return joined([...tokens, contained, plainly, `(isValidASCII(${sql}) OR ${unicode})`]);
}

/** The condition that an address stands in the text and is not a part of a longer one. */
export function holdsAddress(sql: string, address: string, params: Params): string {
  const alone = `(?:^|[^0-9.])${escaped(address)}(?:$|[^0-9.]|\\.(?:$|[^0-9]))`;
  return `match(${sql}, ${params.bind(alone, "String")})`;
}

/** Whether a word must not go on beyond this first or last character. */
function needsEdge(character: string | undefined): boolean {
  return character !== undefined && wordCharacter.test(character) && !unspacedCharacter.test(character);
}

function pattern(plain: string, edge: string, before: boolean, after: boolean): string {
  return `${before ? `(?:^|${edge})` : ""}${escaped(plain)}${after ? `(?:$|${edge})` : ""}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Runs of ASCII letters and digits that are words for the engine's index. */
function tokensOf(plain: string): string[] {
  return [...new Set(plain.toLowerCase().match(/[a-z0-9]+/g))];
}

/** Lowering once is twice as fast as ILIKE, which only text beyond ASCII needs. */
function contains(sql: string, plain: string, ascii: boolean, params: Params): string {
  const like = `%${plain.replaceAll(/[\\%_]/g, "\\$&")}%`;
  return ascii
    ? `lower(${sql}) LIKE ${params.bind(like.toLowerCase(), "String")}`
    : `${sql} ILIKE ${params.bind(like, "String")}`;
}

function joined(parts: readonly string[]): string {
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(" AND ")})`;
}
