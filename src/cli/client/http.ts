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

/** After this silence the server is asked whether it answers at all; statements may take as long as they need. */
const silentMs = 5_000;
const healthMs = 10_000;

/**
 * Resolves when the headers of the response are there. Throws UNREACHABLE if no server answers, also in the middle of a
 * response.
 */
export async function send(request: HttpRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, signal } = request;
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = openerOf(url)(url, { method, headers: { ...headers, ...length }, signal, agent: false }, resolve);
    sent.once("error", (error) =>
      reject(signal.aborted || error instanceof CliError ? error : unreachable(url, error)),
    );
    sent.once("socket", (socket) => {
      socket.setTimeout(silentMs);
      socket.on("timeout", () => {
        void answersAtAll(url, signal).then((answers) => {
          if (!answers && !signal.aborted) sent.destroy(hung(url));
        });
      });
    });
    sent.end(body);
  });
}

function openerOf(url: URL) {
  return process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http").request;
}

/** Whether the server answers on another connection. */
async function answersAtAll(url: URL, signal: AbortSignal): Promise<boolean> {
  return await new Promise((resolve) => {
    const sent = openerOf(url)(new URL("/health", url), { signal, agent: false, timeout: healthMs }, (response) => {
      response.resume();
      resolve(true);
    });
    sent.once("timeout", () => sent.destroy());
    sent.once("error", () => resolve(false));
    sent.once("close", () => resolve(false));
    sent.end();
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

function hung(url: URL): CliError {
  return new CliError(`${url.origin} accepts connections and does not answer`, {
    exitCode: exitCodes.failed,
    code: "UNREACHABLE",
    hint: "Is this the port of a Millrace server? If it is, the server hangs: look at its log, and restart it.",
    retryable: true,
  });
}
