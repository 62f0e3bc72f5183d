/**
 * Classes of IP addresses, according to the special-purpose registries of IANA (RFC 6890) and the metadata addresses of
 * cloud providers. An IPv6 address that embeds an IPv4 address has the class of that address.
 */
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

export const addressClasses = ["metadata", "loopback", "link-local", "private", "reserved", "public"] as const;
export type AddressClass = (typeof addressClasses)[number];

/** Checked in this order: the first class that contains the address applies. */
const networks: Readonly<Record<Exclude<AddressClass, "public">, readonly string[]>> = {
  // AWS, Azure, Google, Oracle, Alibaba; credentials of containers in AWS; Azure's wire server has a public address.
  metadata: [
    "169.254.169.254/32",
    "169.254.170.2/32",
    "169.254.170.23/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
    "100.100.100.200/32",
    "fd00:ec2::254/128",
    "fd00:ec2::23/128",
    "fd20:ce::254/128",
    "fd00:c1::a9fe:a9fe/128",
  ],
  // Connecting to 0.0.0.0 or :: reaches this machine.
  loopback: ["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"],
  "link-local": ["169.254.0.0/16", "fe80::/10"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10"],
  reserved: [
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "ff00::/8",
    // Protocol assignments, including Teredo, which embeds an IPv4 address; documentation.
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
  ],
};

const lists = Object.entries(networks).map(([name, cidrs]) => [name as AddressClass, listOf(cidrs)] as const);

/** Global unicast, and IPv4 addresses with translation prefixes (RFC 4291, RFC 6052). */
const global = listOf(["2000::/3", "::ffff:0:0/96", "64:ff9b::/96"]);

/** The class of an IP address, IPv6 zones ignored. Addresses of this machine's interfaces count as loopback. */
export function classOf(address: string): AddressClass {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  const found = lists.find(([, list]) => list.check(address, family))?.[0];
  if (found === "metadata" || found === "loopback" || found === "link-local") return found;
  if (interfaceAddresses().check(address, family)) return "loopback";
  if (found !== undefined) return found;
  return family === "ipv6" && !global.check(address, family) ? "reserved" : "public";
}

/** True for an address of this machine, at which its own listeners can be reached. */
export function isOwnAddress(address: string): boolean {
  return classOf(address) === "loopback";
}

/** The network of `a.b.c.d/n`, of `x::y/n` or of one address; undefined for anything else. */
export function parseNetwork(text: string): { readonly address: string; readonly prefix: number } | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 0 || rest.length > 0) return undefined;
  const most = family === 6 ? 128 : 32;
  if (length === undefined) return { address, prefix: most };
  const prefix = Number(length);
  return /^\d{1,3}$/.test(length) && prefix <= most ? { address, prefix } : undefined;
}

/**
 * Items of a setting such as `10.0.0.0/8,2001:db8::7`: networks and addresses. Throws a TypeError that names a wrong
 * item, or says that there is none.
 */
export function parseNetworks(text: string): readonly string[] {
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  const wrong = items.find((item) => parseNetwork(item) === undefined);
  if (wrong !== undefined) throw new TypeError(`"${wrong}" is neither a network such as 10.0.0.0/8 nor an address`);
  if (items.length === 0) throw new TypeError("must name a network such as 10.0.0.0/8, or an address");
  return items;
}

/** A list of the networks; IPv4 ones also match as mapped, compatible, NAT64 and 6to4 addresses of IPv6. */
export function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const network = parseNetwork(cidr);
    if (network === undefined) throw new TypeError(`${cidr} is not a network`);
    const { address, prefix } = network;
    if (isIP(address) === 6) list.addSubnet(address, prefix, "ipv6");
    else {
      // BlockList matches mapped addresses (::ffff:a.b.c.d) by the rule itself.
      list.addSubnet(address, prefix, "ipv4");
      list.addSubnet(`::${address}`, 96 + prefix, "ipv6");
      list.addSubnet(`64:ff9b::${address}`, 96 + prefix, "ipv6");
      list.addSubnet(`2002:${hexOf(address)}::`, 16 + prefix, "ipv6");
    }
  }
  return list;
}

/** `10.0.0.1` -> `a00:1`. */
function hexOf(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Read at every check, because interfaces change. */
function interfaceAddresses(): BlockList {
  const list = new BlockList();
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])) {
    list.addAddress(address, family === "IPv6" ? "ipv6" : "ipv4");
  }
  return list;
}
