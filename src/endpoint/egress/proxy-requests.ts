/** Requests with an absolute URL, as clients send them to a proxy for `http:`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DialTarget } from "../../outgoing/dialer.ts";
import type { AnswerHead } from "../proxy/answer-reader.ts";
import type { Upstream } from "../proxy/upstream.ts";
import type { HeaderList, UpstreamHandler } from "../proxy/upstream-connection.ts";
import { answerFor, badProxyRequest, bodyOf, type ProxyAnswer, reasonOf } from "./proxy-answers.ts";

/** Headers of one connection (RFC 9110, 7.6.1), or handled by the proxy itself. */
const hopByHop = /^(?:connection|keep-alive|proxy-[a-z-]+|te|trailer|transfer-encoding|upgrade|expect)$/i;

/**
 * Streams bodies in both directions with back-pressure, from a client of the target that allows what the service may
 * reach. A truncated response breaks the client's connection.
 */
export function forwardProxyRequest(
  upstreamTo: (target: DialTarget) => Upstream,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = absoluteUrl(request.url ?? "");
  if (url === undefined) {
    answer(request, response, badProxyRequest);
    return;
  }
  const target = { host: url.hostname.replaceAll(/[[\]]/g, ""), port: Number(url.port || 80) };
  const sent = upstreamTo(target).send(
    {
      ...{ method: request.method ?? "GET", path: `${url.pathname}${url.search}` },
      ...{ host: request.headers.host ?? url.host, headers: requestHeaders(request) },
      body: { first: [], rest: hasBody(request) ? request : undefined },
    },
    new Relay(request, response),
  );
  response.on("close", () => {
    // A complete response closes as well; an error with its stack would cost each of them time.
    if (!response.writableFinished) sent.abort(new Error("the client went away"));
  });
}

/** Relays one response. */
class Relay implements UpstreamHandler {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  onHead({ status, headers }: AnswerHead): void {
    this.#response.writeHead(status, endToEnd(headers).flat());
  }

  onData(slice: Buffer, sent: () => void): void {
    this.#response.write(slice, sent);
  }

  onEnd(): void {
    this.#response.end();
  }

  onError(error: Error): void {
    if (this.#response.headersSent) this.#response.write("", () => this.#response.socket?.destroySoon());
    else if (!this.#response.destroyed) answer(this.#request, this.#response, answerFor(error));
  }
}

function absoluteUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" && url.username === "" && url.password === "" ? url : undefined;
}

/** A message has a body when it says how long it is (RFC 9112, 6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function requestHeaders({ rawHeaders }: IncomingMessage): HeaderList {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""] as const] : [],
  );
  return endToEnd(pairs).filter(([name]) => !/^host$/i.test(name));
}

/** Without the headers of one connection and those that `Connection` names. */
function endToEnd(headers: HeaderList): HeaderList {
  const listed = headers.filter(([name]) => /^connection$/i.test(name)).flatMap(([, value]) => value.split(","));
  const dropped = new Set(listed.map((name) => name.trim().toLowerCase()));
  return headers.filter(([name]) => !hopByHop.test(name) && !dropped.has(name.toLowerCase()));
}

/** The rest of the request's body is not read. */
function answer(request: IncomingMessage, response: ServerResponse, content: ProxyAnswer): void {
  response.writeHead(content.status, reasonOf(content), { "Content-Type": "application/xml", Connection: "close" });
  response.end(request.method === "HEAD" ? undefined : bodyOf(content));
}
