/** The `ipAccessList` of a service: addresses and CIDR ranges of both families. */
import { BlockList, isIP, isIPv6 } from "node:net";

/** True for the remote addresses on the list. An entry that cannot be read lets nobody in. */
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
  // The entry that means "everybody" on IPv4 is written by people who mean everybody.
  if (source === "0.0.0.0/0") list.addSubnet("::", 0, "ipv6");
}
