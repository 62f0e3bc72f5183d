/** Hosts with ports, and lists of them in settings: `keeper-0:2181,keeper-1:2181`. */

export type HostAndPort = { readonly host: string; readonly port: number };

/** As in a URL, where an IPv6 address has brackets. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Throws a TypeError that names a wrong item. */
export function parseHosts(text: string): readonly HostAndPort[] {
  const items = text.split(",").map((item) => item.trim());
  return items.map((item) => {
    const [, host = "", digits = ""] = /^([A-Za-z0-9.-]+):(\d{1,5})$/.exec(item) ?? [];
    const port = Number(digits);
    if (host === "" || port < 1 || port > 65_535)
      throw new TypeError(`"${item}" is not host:port, such as keeper-0:2181`);
    return { host, port };
  });
}
