/** Which entries of an access list admit an address, by the rules of the server. */

/** False for text that is not an address or range. */
export function admits(source: string, address: string): boolean {
  if (source === "anywhere" || source === "0.0.0.0/0") return true;
  const [base = "", length] = source.split("/");
  const [range, own] = [bitsOf(base), bitsOf(address)];
  if (range === undefined || own === undefined) return false;
  const fixed = length === undefined ? 128 : Number(length) + (base.includes(":") ? 0 : ipv4Prefix.length);
  return range.slice(0, fixed) === own.slice(0, fixed);
}

/** An IPv4 address is one of ::ffff:0:0/96, so that a range of IPv6 may contain it, as at the server. */
const ipv4Prefix = "0".repeat(80) + "1".repeat(16);

/** 128 zeros and ones. */
function bitsOf(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (plain.includes(".")) {
    const bits = groupBits(plain.split("."), 10, 8, 4);
    return bits && ipv4Prefix + bits;
  }
  const [head = "", tail] = plain.split("::");
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return groupBits([...before, ...Array.from({ length: zeros }, () => "0"), ...after], 16, 16, 8);
}

function groupsOf(text: string | undefined): string[] {
  return text === undefined || text === "" ? [] : text.split(":");
}

function groupBits(groups: readonly string[], radix: number, width: number, count: number): string | undefined {
  const numbers = groups.map((group) => Number.parseInt(group, radix));
  if (numbers.length !== count || numbers.some((one) => !(one >= 0 && one < 2 ** width))) return undefined;
  return numbers.map((one) => one.toString(2).padStart(width, "0")).join("");
}
