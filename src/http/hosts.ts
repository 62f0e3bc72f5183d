/**
 * The host names by which pages may be asked for. A page elsewhere can point a name of its own at this machine and read
 * what a browser here gets (DNS rebinding); the name is what gives it away.
 */
import { isIP } from "node:net";

/** Whether a Host header names this server: one of `names`, a name of this machine, or any address. */
export function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set([...names.map(plainName), "localhost"]);
  return (header) => {
    // Without a Host it is no browser.
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

/** The host part of a URL at which a listener on `host` is reached from this machine. */
export function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
