/** One statement: sent, and its result streamed to stdout as it comes. */
import type { IncomingMessage } from "node:http";
import type { CliClient } from "../client/client.ts";
import { CliError, exitCodes } from "../errors.ts";
import { byteSize } from "../output/text.ts";
import type { Shell } from "../shell.ts";

export type StatementOptions = {
  readonly serviceId: string;
  readonly database: string | undefined;
  readonly format: string;
  readonly params: Readonly<Record<string, string | null>>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly wake: "auto" | "never";
  readonly readonly: boolean;
};

export type QueryOutcome = { readonly bytes: number; readonly summary: QuerySummary };

/** What the engine says of a query, before its last rows. */
export type QuerySummary = {
  readonly read_rows?: string;
  readonly read_bytes?: string;
  readonly written_rows?: string;
};

/** Bytes at the end that may hold the reason of a broken result. */
const tailBytes = 16_384;

/**
 * Streams the result. Throws QUERY_FAILED when it is broken off, after what came of it is written; the exit code says
 * whether the limit of the statement's time ended it.
 */
export async function streamStatement(
  shell: Shell,
  client: CliClient,
  statement: string,
  options: StatementOptions,
  signal: AbortSignal,
): Promise<QueryOutcome> {
  const { serviceId, database, format, params, settings, wake, readonly } = options;
  const body = { query: statement, params, settings, format, wake, readonly, ...(database ? { database } : {}) };
  try {
    const response = await client.open("runQuery", { params: { serviceId }, body }, signal);
    const bytes = await copy(shell, response, signal);
    return { bytes, summary: summaryOf(response) };
  } catch (error) {
    throw settings.max_execution_time === undefined ? error : outOfTime(error);
  }
}

/** The error with the exit code of `--timeout`, if the engine ended the statement for its time. */
function outOfTime(error: unknown): unknown {
  if (!(error instanceof CliError) || !/\bTIMEOUT_EXCEEDED\b|^Timeout exceeded\b/.test(error.message)) return error;
  const { code, issues, hint, requestId, retryable } = error;
  return new CliError(error.message, { exitCode: exitCodes.timeout, code, issues, hint, requestId, retryable });
}

async function copy(shell: Shell, response: IncomingMessage, signal: AbortSignal): Promise<number> {
  const toTerminal = shell.io.stdout.isTTY === true;
  const progress = shell.progress();
  const started = performance.now();
  let bytes = 0;
  let tail: Buffer = Buffer.alloc(0);
  let toldAt = started;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      tail = chunk.length >= tailBytes ? chunk.subarray(-tailBytes) : Buffer.concat([tail, chunk]).subarray(-tailBytes);
      await shell.write(chunk);
      const now = performance.now();
      if (!toTerminal && shell.io.stderr.isTTY === true && now - toldAt > 250) {
        toldAt = now;
        progress.update(`${byteSize(bytes)}, ${byteSize(bytes / ((now - started) / 1000))}/s`, "");
      }
    }
  } catch (error) {
    if (signal.aborted) throw error;
    // What came before the connection ended, and was not read yet.
    const rest = (response.read() as Buffer | null) ?? Buffer.alloc(0);
    await shell.write(rest);
    throw brokenResult(Buffer.concat([tail, rest]));
  } finally {
    progress.end();
  }
  if (response.headers["x-clickhouse-exception-tag"] !== undefined && exceptionIn(tail) !== undefined) {
    throw brokenResult(tail);
  }
  return bytes;
}

/** The engine's reason at the end of a broken result, as text or as a member of JSON or XML. */
function exceptionIn(tail: Buffer): string | undefined {
  const text = tail.toString("utf8");
  const own = /__exception__\r?\n[^\r\n]*\r?\n([\s\S]*?)(?:\r?\n\d+ [^\r\n]+\r?\n__exception__|$)/.exec(text)?.[1];
  if (own !== undefined) return own;
  const inJson = /(?:"exception": |\n\[)("Code: \d+\. DB::Exception: (?:[^"\\]|\\.)*")\s*[}\]]\s*$/.exec(text)?.[1];
  if (inJson !== undefined) return JSON.parse(inJson) as string;
  return /<exception>(Code: \d+\. DB::Exception: [^<]*)<\/exception>\s*<\/result>\s*$/.exec(text)?.[1];
}

function brokenResult(tail: Buffer): CliError {
  const reason = exceptionIn(tail)?.trim();
  return new CliError(`the result is incomplete: ${reason ?? "the server broke it off"}`, {
    exitCode: exitCodes.failed,
    code: "QUERY_FAILED",
  });
}

function summaryOf({ headers }: IncomingMessage): QuerySummary {
  try {
    return JSON.parse(String(headers["x-clickhouse-summary"] ?? "{}")) as QuerySummary;
  } catch {
    return {};
  }
}
