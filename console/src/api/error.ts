/** The one error of requests. */
import { wordsAt } from "../lib/format.ts";

export type Issue = { readonly path: string; readonly message: string; readonly position?: number };

/** Members of both APIs' error documents. */
export type ErrorDocument = {
  /** The management API sends `WORD: sentence`. */
  readonly error?: string;
  /** The observability API sends the sentence. */
  readonly message?: string;
  readonly code?: string;
  readonly requestId?: string;
  readonly issues?: readonly Issue[];
  readonly engine?: { readonly code: number; readonly name: string };
};

/** A request that did not succeed. `message` is a sentence for the user. */
export class ApiError extends Error {
  /** 0: no response. */
  readonly status: number;
  /** A code of docs/errors.md, or UNREACHABLE. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly issues: readonly Issue[];
  readonly engine: ErrorDocument["engine"];
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, document: ErrorDocument, retryAfterSeconds?: number) {
    super(sentenceOf(document) ?? `The server answered with status ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = document.code ?? `HTTP ${status}`;
    this.requestId = document.requestId;
    this.issues = document.issues ?? [];
    this.engine = document.engine;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The message of the first issue at this path or below it. */
  issueAt(path: string): string | undefined {
    return this.issues.find((issue) => issue.path === path || issue.path.startsWith(`${path}.`))?.message;
  }
}

/** No response at all: the server is down, or the network. */
export function unreachable(): ApiError {
  return new ApiError(0, { code: "UNREACHABLE", error: "Millrace does not answer." });
}

/** Anything thrown, as an ApiError. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, { code: "CONSOLE", error: error instanceof Error ? error.message : String(error) });
}

/** The sentence of an error that is about no member of the request: no field shows it. */
export function placeless(error: ApiError | null | undefined): string | undefined {
  return error?.issues.length === 0 ? error.message : undefined;
}

/** Names members by their words, where the API does by their paths. */
function sentenceOf({ error, message, issues = [] }: ErrorDocument): string | undefined {
  const sentence = message ?? error?.replace(/^[A-Z_]+: /, "");
  return issues.reduce(
    (text, { path }) => (path === "" ? text : text?.replace(`${path}: `, `${wordsAt(path)}: `)),
    sentence,
  );
}
