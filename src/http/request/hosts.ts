/**
 * The host names under which this server may be requested. A page elsewhere can point its own host name to this machine
 * and read what a browser here receives (DNS rebinding); the Host header reveals it.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { pushAddress } from "../../api/sent-rows.ts";
import { AppError } from "../../lib/errors.ts";
import { bracketed } from "../../lib/host-list.ts";

export type RequestHead = { readonly url: string; readonly headers: IncomingHttpHeaders };

/**
 * Returns a check of a request's head, which throws MISDIRECTED_REQUEST for a Host that does not name this server. The
 * two APIs accept any Host with an `Authorization` header unless this server listens on a loopback address: a page
 * elsewhere has no credentials, and operators need not list every name of a machine in their network. The addresses of
 * push pipes accept any: they know no cookies, and judge the Origin of a page themselves.
 */
export function requireKnownHost(options: {
  /** Names of this server, besides addresses and names of this machine. */
  readonly names: readonly string[];
  readonly listensOn: string;
}): (request: RequestHead) => void {
  const isKnown = hostCheck([...options.names, options.listensOn]);
  const local = isLoopbackHost(options.listensOn);
  return ({ url, headers }) => {
    if (isKnown(headers.host) || url.startsWith(pushAddress)) return;
    if (!local && headers.authorization !== undefined && /^\/(v1|api)\//.test(url)) return;
    throw new AppError(
      "MISDIRECTED_REQUEST",
      "This server does not know its name in the Host header; set --public-host to it.",
    );
  };
}

function isLoopbackHost(host: string): boolean {
  const name = plainName(host);
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || name.startsWith("127.");
}

/** Returns a check whether a Host header names this server: one of `names`, a name of this machine, or any address. */
export function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set([...names.map(plainName), "localhost"]);
  let last: string | undefined;
  return (header) => {
    // A client without a Host header is not a browser. Most clients send the name that the request before had.
    if (header === undefined || header === last) return true;
    const name = nameOf(header);
    const isKnown = known.has(name) || name.endsWith(".localhost") || isIP(name) !== 0;
    if (isKnown) last = header;
    return isKnown;
  };
}

/** The name or address of a Host header, without its port. */
function nameOf(header: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(header.trim());
  return plainName(match?.[1] ?? match?.[2] ?? "");
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

/** The host part of a URL for a listener on `host`, as reached from this machine. */
export function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return bracketed(host);
}
