/** What went wrong with a statement, and where in its text. */
import type { ApiError } from "../api/error.ts";

export type QueryError = {
  /** The first sentence. */
  readonly message: string;
  /** What the engine adds: the words that it expected, the scope. */
  readonly more: string | undefined;
  readonly code: string;
  readonly requestId: string | undefined;
  /** Characters from the beginning of the statement. */
  readonly position: number | undefined;
};

/** The error of a request that was refused. */
export function refusedQuery(error: ApiError, statement: string): QueryError {
  const code = error.engine === undefined ? error.code : `${error.engine.name} (${error.engine.code})`;
  const position = error.issues[0]?.position ?? placeOf(error.message, statement);
  return { ...sentencesOf(error.message), code, requestId: error.requestId, position };
}

/** The error of a result that ended with an exception: `Code: 395. DB::Exception: ... (NAME) (version ...)`. */
export function brokenQuery(text: string, statement: string): QueryError {
  const [, number, rest] = /^Code: (\d+)\. (?:DB::Exception: )?([\s\S]*)$/.exec(text) ?? [];
  const name = /\(([A-Z0-9_]+)\)(?: \(version [^)]*\))?\s*$/.exec(text)?.[1];
  const message = (rest ?? text).replace(/\s*\([A-Z0-9_]+\)(?: \(version [^)]*\))?\s*$/, "");
  const code = name === undefined ? "QUERY_FAILED" : `${name} (${number})`;
  return { ...sentencesOf(message), code, requestId: undefined, position: placeOf(message, statement) };
}

function sentencesOf(text: string): Pick<QueryError, "message" | "more"> {
  const cut = /(?:\. Expected one of:|[.:]? In scope |: while executing |: While processing )/.exec(text);
  if (cut === null) return { message: text, more: undefined };
  const more = text.slice(cut.index).replace(/^[.:\s]+/, "");
  return { message: `${text.slice(0, cut.index)}.`, more };
}

/** The place of a name that the engine does not know. */
function placeOf(message: string, statement: string): number | undefined {
  const name =
    /(?:identifier|function|table|column|type|setting|method)\w*(?: with name| family)?:? [`'"]?([\w.]+)/i.exec(
      message,
    )?.[1];
  if (name === undefined) return undefined;
  const last = name.split(".").at(-1) as string;
  const found = new RegExp(`\\b${last}\\b`).exec(statement)?.index;
  return found;
}
