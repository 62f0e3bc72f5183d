/**
 * The format in which objects are read. Format Values holds expressions, and an INSERT whose own VALUES may be computed
 * passes that setting to the materialized views that it feeds. So the format of object storage must be explicit, and
 * not Values.
 */
import { inputFormats } from "../lists/lists.ts";
import { isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import { refuse } from "./refusal.ts";

type Range = readonly [number, number];

/** Tables whose metadata defines the file format. */
const lakes = /^(?:iceberg|deltalake|hudi|paimon)/;

/** Extensions of compressed files, which follow the format's extension. */
const compressed = /\.(?:gz|gzip|br|zst|zstd|xz|lzma|bz2|lz4|snappy)$/;

/** Throws when these arguments do not determine the format of object storage. `name` is the function or engine. */
export function judgeFormat(tokens: readonly SqlToken[], ranges: readonly Range[], name: string): void {
  if (lakes.test(name.toLowerCase())) return;
  const texts = ranges.map(([from, to]) => textOf(tokens, from, to));
  const named = ranges.some(([from, to]) => isFormatPair(tokens, from, to));
  const azure = name.toLowerCase().startsWith("azure");
  if (named || (azure ? namesFormatOfAzure(texts) : namesFormatOfS3(texts))) return;
  if (!hasExtension(texts[azure ? 2 : 0])) refuse(`Name the format of ${name}: its address does not end with one.`);
}

/**
 * `(url, format)`, `(url, NOSIGN, format)`, `(url, key, secret, [token,] format)`: distinguished as the engine does.
 */
function namesFormatOfS3(texts: readonly (string | undefined)[]): boolean {
  if (isFormat(texts[1])) return true;
  if (texts[1]?.toUpperCase() === "NOSIGN") return isFormat(texts[2]);
  return isFormat(texts[3]) || (!isFormat(texts[2]) && isFormat(texts[4]));
}

/** `(account, container, path, format)` or `(account, container, path, name, key, format)`. */
function namesFormatOfAzure(texts: readonly (string | undefined)[]): boolean {
  return isFormat(texts[3]) || isFormat(texts[5]);
}

function hasExtension(address: string | undefined): boolean {
  if (address === undefined || /[?#]/.test(address)) return false;
  const extension = /\.([A-Za-z0-9]+)$/.exec(address.toLowerCase().replace(compressed, ""))?.[1];
  return extension !== undefined && isFormat(extension);
}

function isFormat(text: string | undefined): boolean {
  return text !== undefined && inputFormats.has(text.toLowerCase());
}

/** `format = CSV`. */
function isFormatPair(tokens: readonly SqlToken[], from: number, to: number): boolean {
  const [key, equals, value] = tokens.slice(from, to);
  return to - from === 3 && isName(key) && key.value === "format" && isMark(equals, "=") && isFormat(value?.value);
}

function textOf(tokens: readonly SqlToken[], from: number, to: number): string | undefined {
  const token = tokens[from];
  return to === from + 1 && (token?.kind === "string" || isName(token)) ? token.value : undefined;
}
