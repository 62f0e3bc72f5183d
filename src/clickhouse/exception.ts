/**
 * An error as the ClickHouse HTTP interface shows it: numeric code, name, text, and the HTTP status of the code. Used
 * by our own protocol servers; the client reads errors in `client.ts`.
 */
import { type ClickHouseCodeName, clickHouseCodes, httpStatusOf } from "./error-codes.ts";

export class ClickHouseException extends Error {
  readonly code: number;
  /** The name in capitals after the text, for example `UNKNOWN_TABLE`. */
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

/**
 * Parses an error text of the engine. The prefix is repeated when a query was nested in another (`Code: N.
 * DB::Exception: Code: N. DB::Exception: ...`); the innermost sentence is kept.
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
