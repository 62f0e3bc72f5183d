/**
 * An error as the ClickHouse HTTP interface shows it: numeric code, name, text, and the HTTP status of the code.
 * Used by both ends of our own protocol servers; the client side reads errors in `client.ts`.
 */

/** The codes that our own servers raise themselves. Codes of the engine pass through as numbers. */
export const clickHouseCodes = {
  BAD_ARGUMENTS: 36,
  NOT_IMPLEMENTED: 48,
  SYNTAX_ERROR: 62,
  CANNOT_DECOMPRESS: 271,
  UNKNOWN_SETTING: 115,
  READONLY: 164,
  NETWORK_ERROR: 210,
  MEMORY_LIMIT_EXCEEDED: 241,
  NOT_ENOUGH_SPACE: 243,
  CANNOT_READ_ALL_DATA: 33,
  QUERY_IS_TOO_LARGE: 307,
  ACCESS_DENIED: 497,
  AUTHENTICATION_FAILED: 516,
  UNKNOWN_EXCEPTION: 1002,
} as const;

export type ClickHouseCodeName = keyof typeof clickHouseCodes;

export class ClickHouseException extends Error {
  readonly code: number;
  /** The name in capitals behind the text, for example `UNKNOWN_TABLE`. */
  readonly codeName: string;

  constructor(code: number, codeName: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ClickHouseException";
    this.code = code;
    this.codeName = codeName;
  }

  get httpStatus(): number {
    return httpStatusOf(this.code);
  }

  /** The body of an error response, as clients parse it. */
  format(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.codeName}) (version ${version})\n`;
  }
}

export function clickHouseException(name: ClickHouseCodeName, message: string, options?: ErrorOptions) {
  return new ClickHouseException(clickHouseCodes[name], name, message, options);
}

const badRequest = [
  6, 7, 8, 10, 16, 25, 26, 27, 36, 38, 41, 44, 53, 62, 72, 117, 153, 167, 168, 195, 237, 238, 321, 373, 374, 427, 441,
  675, 676, 678, 679,
];
const notFound = [46, 47, 50, 56, 60, 73, 78, 81, 115, 159, 184, 336, 372, 511];

const statuses = new Map<number, number>([
  ...badRequest.map((code) => [code, 400] as const),
  ...notFound.map((code) => [code, 404] as const),
  [194, 401],
  [192, 403],
  [193, 403],
  [497, 403],
  [512, 403],
  [516, 403],
  [159, 408],
  [381, 411],
  [223, 413],
  [307, 413],
  [202, 503],
  [209, 503],
  [210, 503],
  [76, 503],
  [439, 503],
  [48, 501],
]);

/** The HTTP status that a ClickHouse server answers with for an error code; 500 for the codes it does not map. */
export function httpStatusOf(code: number): number {
  return statuses.get(code) ?? 500;
}

/**
 * Reads an error text of the engine. It repeats itself when a query was embedded in another
 * (`Code: N. DB::Exception: Code: N. DB::Exception: ...`), and this keeps the innermost sentence.
 */
export function parseException(text: string): ClickHouseException {
  let rest = text.replace(/^Query failed: /, "").trim();
  let code: number = clickHouseCodes.UNKNOWN_EXCEPTION;
  let name = "UNKNOWN_EXCEPTION";
  for (;;) {
    const head = /^Code: (\d+)\. DB::[A-Za-z:]*Exception: /.exec(rest);
    if (!head) break;
    code = Number(head[1]);
    rest = rest.slice(head[0].length).trimEnd();
    const tail = /\s*\(([A-Z][A-Z0-9_]+)\)(?: \(version [^()]*(?:\([^()]*\))?\))?\.?$/.exec(rest);
    if (tail) {
      name = tail[1] as string;
      rest = rest.slice(0, tail.index);
    }
    rest = rest.replace(/\s*\(version [^()]*(?:\([^()]*\))?\)\.?$/, "");
  }
  return new ClickHouseException(code, name, rest === "" ? "The engine gave no reason." : rest);
}
