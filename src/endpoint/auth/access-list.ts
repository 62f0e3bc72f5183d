/** Addresses: the `ipAccessList` of a service, with CIDR ranges of both families, and what counts as one address. */
import { BlockList, isIP, isIPv6 } from "node:net";

/** Returns a check that is true for remote addresses on the list. An entry that cannot be parsed admits no address. */
export function accessCheck(sources: readonly string[]): (remoteAddress: string | undefined) => boolean {
  const allowed = new BlockList();
  for (const source of sources) addSource(allowed, source.trim());
  return (remoteAddress) => {
    const address = plainAddress(remoteAddress ?? "");
    return isIP(address) !== 0 && allowed.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  };
}

/** An IPv4 client of a dual-stack listener is shown as `::ffff:1.2.3.4`. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** What counts as one address: an IPv4 address, or the /64 from which an IPv6 host chooses its addresses. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = (plain.split("%")[0] as string).split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  // An embedded IPv4 address replaces two groups, both in the last half.
  const length = groups.length + after.length + (plain.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - length) }, () => "0");
  const first = [...groups, ...zeros, ...after].slice(0, 4);
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

function addSource(list: BlockList, source: string): void {
  if (source.toLowerCase() === "anywhere") {
    list.addSubnet("0.0.0.0", 0, "ipv4");
    list.addSubnet("::", 0, "ipv6");
    return;
  }
  const [base = "", bits, ...more] = source.split("/");
  const address = plainAddress(base);
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  const width = family === "ipv6" ? 128 : 32;
  const prefix = bits === undefined ? width : Number(bits);
  if (isIP(address) === 0 || more.length > 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > width) return;
  list.addSubnet(address, prefix, family);
  // Users write the IPv4 entry for "everybody" when they mean both families.
  if (source === "0.0.0.0/0") list.addSubnet("::", 0, "ipv6");
}
