/** Compresses responses for callers that ask for it. */
import type { Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";

/** Shorter text is not compressed: it fits into one packet. */
const leastBytes = 1400;

/** True when an Accept-Encoding header asks for gzip. */
export function wantsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? "")
    .split(",")
    .slice(0, 50)) {
    const [coding = "", ...parameters] = part.trim().toLowerCase().split(";");
    const weight = /^\s*q\s*=\s*([\d.]+)\s*$/.exec(parameters.at(-1) ?? "")?.[1];
    weights.set(coding.trim(), Number(weight ?? 1));
  }
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}

/** True when the text is long enough for compression. */
export function isWorthIt(pieces: readonly (string | Buffer)[]): boolean {
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length >= leastBytes) return true;
  }
  return false;
}

/** The text as gzip. An error or the end of either stream ends the other one too. */
export function gzipped(source: Readable): Readable {
  // Rows repeat their names: the fastest level already reduces them to a tenth.
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  source.once("error", (error) => gzip.destroy(error));
  gzip.once("close", () => source.destroy());
  return source.pipe(gzip);
}
