/**
 * The host names under which pages may be requested. A page elsewhere can point its own host name to this machine and
 * read what a browser here receives (DNS rebinding); the Host header reveals it.
 */
import { isIP } from "node:net";

/** Returns a check whether a Host header names this server: one of `names`, a name of this machine, or any address. */
export function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set([...names.map(plainName), "localhost"]);
  return (header) => {
    // A client without a Host header is not a browser.
    if (header === undefined) return true;
    const name = nameOf(header);
    return known.has(name) || name.endsWith(".localhost") || isIP(name) !== 0;
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
  return host.includes(":") ? `[${host}]` : host;
}
