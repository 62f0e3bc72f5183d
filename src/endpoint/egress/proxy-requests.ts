/** Requests with an absolute URL, as clients send them to a proxy for `http:`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hopHeaders } from "../../lib/hop-headers.ts";
import type { DialTarget } from "../../outgoing/dialer.ts";
import type { AnswerHead } from "../forward/answer-reader.ts";
import { forwardUpstream } from "../forward/forward-upstream.ts";
import type { Upstream } from "../forward/upstream.ts";
import type { HeaderList } from "../forward/upstream-connection.ts";
import { answerFor, badProxyRequest, bodyOf, type ProxyAnswer, reasonOf } from "./proxy-answers.ts";

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
  const forward = {
    ...{ upstream: upstreamTo(target), method: request.method ?? "GET", path: `${url.pathname}${url.search}` },
    ...{ host: request.headers.host ?? url.host, headers: requestHeaders(request) },
    body: { first: [], rest: hasBody(request) ? request : undefined },
    headersOf: ({ headers }: AnswerHead) => endToEnd(headers).flat(),
  };
  forwardUpstream(forward, response).catch((error: Error) =>
    answer(request, response, answerFor(error.cause ?? error)),
  );
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

const neverPassed: ReadonlySet<string> = new Set([...hopHeaders, "expect"]);

/** Without the headers of one connection and those that `Connection` names. */
function endToEnd(headers: HeaderList): HeaderList {
  const listed = headers.flatMap(([name, value]) =>
    /^connection$/i.test(name) ? value.split(",").map((one) => one.trim().toLowerCase()) : [],
  );
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !neverPassed.has(lower) && !listed.includes(lower);
  });
}

/** The rest of the request's body is not read. */
function answer(request: IncomingMessage, response: ServerResponse, content: ProxyAnswer): void {
  response.writeHead(content.status, reasonOf(content), { "Content-Type": "application/xml", Connection: "close" });
  response.end(request.method === "HEAD" ? undefined : bodyOf(content));
}
