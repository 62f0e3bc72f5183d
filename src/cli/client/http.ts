/**
 * One HTTP request by `node:http`, which loads faster than `fetch` and streams without copies. The module is taken from
 * the process: an import would also load what its unused exports stand for, which takes as long as all the rest.
 */
import type { IncomingMessage } from "node:http";
import { CliError, exitCodes } from "../errors.ts";

export type HttpRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
};

/** Resolves when the headers of the response are there. Throws UNREACHABLE if no server answers. */
export async function send(request: HttpRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, signal } = request;
  const { request: open } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = open(url, { method, headers: { ...headers, ...length }, signal, agent: false }, resolve);
    sent.once("error", (error) => reject(signal.aborted ? error : unreachable(url, error)));
    sent.end(body);
  });
}

/** The body as text. */
export async function bodyText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function unreachable(url: URL, error: Error): CliError {
  const reason = error.message || String((error as { code?: unknown }).code ?? error.name);
  return new CliError(`no server answers at ${url.origin} (${reason})`, {
    exitCode: exitCodes.failed,
    code: "UNREACHABLE",
    hint: "Start one with `millrace serve`, or name another with --url or --context.",
    retryable: true,
  });
}
