/** Forwards one authenticated request to the engine host of its service, which judges it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { credentialParameters } from "../auth/credentials.ts";
import type { DatabasePrincipal } from "../auth/logins.ts";
import { forwardedHeadersOf } from "../handoff/passed-headers.ts";
import { forwardUpstream as pass } from "./forward-upstream.ts";
import { principalHeadersOf } from "./principal-headers.ts";
import type { Upstream } from "./upstream.ts";

export type ForwardTarget = {
  readonly upstream: Upstream;
  readonly principal: DatabasePrincipal;
  /** Headers that the receiver of the request asks for. */
  readonly ownHeaders: Readonly<Record<string, string>>;
};

/**
 * Resolves when both sides are done. Rejects with NotReached or an exception to send, and only before any part of the
 * response is sent.
 */
export async function forwardClientRequest(
  message: IncomingMessage,
  response: ServerResponse,
  url: URL,
  to: ForwardTarget,
): Promise<void> {
  const read = message.method === "GET" || message.method === "HEAD";
  await pass(
    {
      upstream: to.upstream,
      method: message.method ?? "GET",
      path: pathOf(url),
      headers: requestHeaders(message, to),
      body: { first: [], rest: read ? undefined : message },
    },
    response,
  );
}

function requestHeaders(message: IncomingMessage, to: ForwardTarget): Record<string, string> {
  return { ...forwardedHeadersOf(message.headers), ...principalHeadersOf(to.principal), ...to.ownHeaders };
}

/** Path and query without the credentials. */
function pathOf(url: URL): string {
  const kept = url.search
    .slice(1)
    .split("&")
    .filter((pair) => ![...new URLSearchParams(pair).keys()].some((name) => credentialParameters.has(name)));
  return kept.length === 0 || kept[0] === "" ? url.pathname : `${url.pathname}?${kept.join("&")}`;
}
