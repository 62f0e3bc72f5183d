/** What a command fails with: exit code, error code, issues and remedy, for people and as JSON. */
import { type ErrorCode, errorCodes, type Issue } from "../lib/errors.ts";
import { harmless, printable } from "./output/text.ts";

/** The exit codes of `docs/cli.md`. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  failedState: 3,
  unauthorized: 4,
  notFound: 5,
  differences: 6,
  conflict: 7,
  timeout: 124,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

type Details = {
  readonly exitCode?: ExitCode;
  readonly code?: string;
  readonly issues?: readonly Issue[];
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean;
};

/** An error whose message is for the user. Without `exitCode`, the exit code is 1. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly issues: readonly Issue[];
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  readonly retryable: boolean;

  constructor(message: string, details: Details = {}) {
    super(message);
    this.name = "CliError";
    this.exitCode = details.exitCode ?? exitCodes.failed;
    this.code = details.code ?? "FAILED";
    this.issues = details.issues ?? [];
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.retryable = details.retryable ?? false;
  }
}

/** The command line is wrong: exit code 2. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, code: "USAGE", hint });
}

type ErrorAnswer = {
  readonly error?: string;
  readonly message?: string;
  readonly code?: string;
  readonly issues?: readonly Issue[];
  readonly requestId?: string;
};

/** The error of a response: `{error: "WORD: sentence", code, issues, requestId}`, or any other body. */
export function answerError(status: number, body: unknown): CliError {
  const { error, message, code = `HTTP_${status}`, issues, requestId } = (body ?? {}) as ErrorAnswer;
  const row = Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode] : undefined;
  const sentence = message ?? error ?? `the server answered with status ${status}`;
  return new CliError(row === undefined ? sentence : withoutWord(sentence, row.word), {
    exitCode: exitCodeOf(status, code, row?.retryable ?? false),
    code,
    issues: issues ?? [],
    hint: row?.help,
    requestId,
    retryable: row?.retryable ?? status >= 500,
  });
}

function withoutWord(sentence: string, word: string): string {
  return sentence.startsWith(`${word}: `) ? sentence.slice(word.length + 2) : sentence;
}

const mistakes = ["BAD_REQUEST", "INVALID_JSON", "FILTER_INVALID"];

function exitCodeOf(status: number, code: string, retryable: boolean): ExitCode {
  if (status === 401 || status === 403) return exitCodes.unauthorized;
  if (status === 404) return exitCodes.notFound;
  if (status === 409 && retryable) return exitCodes.conflict;
  return mistakes.includes(code) ? exitCodes.usage : exitCodes.failed;
}

/** The lines for people. */
export function errorText(error: CliError): string {
  const code = error.code === "FAILED" || error.code === "USAGE" ? "" : `${error.code}: `;
  const lines = [
    `millrace: ${code}${shortened(error.message)}`,
    ...error.issues.filter(({ message }) => message !== error.message).map((issue) => `  ${issueText(issue)}`),
    ...(error.hint === undefined ? [] : [`hint: ${error.hint}`]),
    ...(error.requestId === undefined ? [] : [`request: ${error.requestId}`]),
  ];
  return `${lines.map((line) => printable(line)).join("\n")}\n`;
}

/** An issue as people read it; one of the whole request has no path. */
export function issueText({ path, message }: { readonly path: string; readonly message: string }): string {
  return path === "" ? message : `${path}: ${message}`;
}

/** Without the engine's long list of tokens that it would have accepted. */
function shortened(message: string): string {
  return message.replace(/(Expected one of: .{100}[^,]*,).+$/s, "$1 ...");
}

/** The document for programs, on one line, which a terminal can show. */
export function errorDocument(error: CliError): string {
  const { code, message, issues, hint, retryable, requestId } = error;
  return `${harmless(JSON.stringify({ error: { code, message, issues, hint, retryable, requestId } }))}\n`;
}

/** Any thrown value as a CliError. An unexpected one keeps its message. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  return new CliError(error instanceof Error ? error.message : String(error), { code: "UNEXPECTED" });
}
