/** Requests with an absolute URL, as clients send them to a proxy for `http:`. */
import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { request as httpRequest } from "../lib/node-http.ts";
import type { DialTarget } from "./dialer.ts";
import { answerFor, badProxyRequest, bodyOf, type ProxyAnswer, reasonOf } from "./proxy-answers.ts";

/** Headers of one connection (RFC 9110, 7.6.1), or handled by the proxy itself. */
const hopByHop = /^(?:connection|keep-alive|proxy-[a-z-]+|te|trailer|transfer-encoding|upgrade|expect)$/i;

export type ProxyRequestOptions = {
  readonly agent: Agent;
  /** Only requests with the same scope share connections. */
  readonly scopeOf: (target: DialTarget) => string;
  readonly connectTimeoutMs: number;
};

/** Streams bodies in both directions with back-pressure. A truncated response breaks the client's connection. */
export function forwardProxyRequest(
  options: ProxyRequestOptions,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = absoluteUrl(request.url ?? "");
  if (url === undefined) {
    answer(request, response, badProxyRequest);
    return;
  }
  const target = { host: url.hostname.replaceAll(/[[\]]/g, ""), port: Number(url.port || 80) };
  const outgoing = httpRequest({
    ...target,
    ...{ agent: options.agent, scope: options.scopeOf(target) },
    method: request.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: endToEnd(request.rawHeaders),
  });
  limitConnecting(outgoing, options.connectTimeoutMs);
  outgoing.on("response", (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.statusMessage ?? "", endToEnd(reply.rawHeaders));
    pipeline(reply, response, () => {});
  });
  outgoing.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else answer(request, response, answerFor(error));
  });
  response.on("close", () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  request.on("error", () => outgoing.destroy());
  request.pipe(outgoing);
}

function absoluteUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" && url.username === "" && url.password === "" ? url : undefined;
}

/**
 * Names and values, alternating, as in Node, without the headers of one connection and those that `Connection` names.
 */
function endToEnd(raw: readonly string[]): string[] {
  const pairs = raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));
  const listed = pairs.filter(([name]) => /^connection$/i.test(name)).flatMap(([, value]) => value.split(","));
  const dropped = new Set(listed.map((name) => name.trim().toLowerCase()));
  return pairs.filter(([name]) => !hopByHop.test(name) && !dropped.has(name.toLowerCase())).flat();
}

function limitConnecting(outgoing: ClientRequest, timeoutMs: number): void {
  const error = Object.assign(new Error("connecting timed out"), { code: "ETIMEDOUT" });
  const timer = setTimeout(() => outgoing.destroy(error), timeoutMs);
  outgoing.once("close", () => clearTimeout(timer));
  outgoing.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", () => clearTimeout(timer));
    else clearTimeout(timer);
  });
}

/** The rest of the request's body is not read. */
function answer(request: IncomingMessage, response: ServerResponse, content: ProxyAnswer): void {
  response.writeHead(content.status, reasonOf(content), { "Content-Type": "application/xml", Connection: "close" });
  response.end(request.method === "HEAD" ? undefined : bodyOf(content));
}
