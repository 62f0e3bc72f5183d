/**
 * The header of the PROXY protocol, versions 1 and 2, which a proxy sends before the bytes of its client:
 * https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt
 */
import { isIPv4, isIPv6, SocketAddress } from "node:net";

export type ProxyHeader = {
  /** Bytes of the header; those of the client follow. */
  readonly length: number;
  /** The client's address; undefined: the connection is the proxy's own, or the proxy does not know the client. */
  readonly address: string | undefined;
};

/** Why bytes are not a header that can be used; the message is a clause without secrets. */
export class ProxyHeaderError extends Error {}

/** The specification bounds a line of version 1, CR and LF included. */
const maxLineBytes = 107;
/** Room for the values that proxies add to addresses in version 2, such as the subject of a client certificate. */
export const maxProxyHeaderBytes = 4_096;
const linePrefix = Buffer.from("PROXY ");
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n");
/** Signature, version and command, family and transport, and the length of the rest. */
const fixedBytes = 16;

/** The header at the beginning of the bytes; undefined: more bytes are needed. Throws ProxyHeaderError. */
export function readHeader(bytes: Buffer): ProxyHeader | undefined {
  if (beginsWith(bytes, linePrefix)) return bytes.length < linePrefix.length ? undefined : readLine(bytes);
  if (beginsWith(bytes, signature)) return bytes.length < fixedBytes ? undefined : readBinary(bytes);
  throw new ProxyHeaderError("the connection does not begin with a PROXY header");
}

/** Whether the bytes, or those that have arrived, are those of the prefix. */
function beginsWith(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length);
  return bytes.subarray(0, length).equals(prefix.subarray(0, length));
}

function readLine(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, maxLineBytes).indexOf("\r\n");
  if (end < 0) {
    if (bytes.length < maxLineBytes) return undefined;
    throw new ProxyHeaderError(`the PROXY header of version 1 has more than ${maxLineBytes} bytes`);
  }
  const length = end + 2;
  const [family, source = "", destination = "", ...ports] = bytes.toString("latin1", linePrefix.length, end).split(" ");
  // Whatever follows is to be ignored.
  if (family === "UNKNOWN") return { length, address: undefined };
  if (family !== "TCP4" && family !== "TCP6") {
    throw new ProxyHeaderError("the PROXY header of version 1 names neither TCP4, TCP6 nor UNKNOWN");
  }
  const isAddress = family === "TCP4" ? isIPv4 : (text: string) => isIPv6(text) && !text.includes("%");
  if (!isAddress(source) || !isAddress(destination)) {
    throw new ProxyHeaderError(`the PROXY header of version 1 has no two addresses of ${family}`);
  }
  if (ports.length !== 2 || !ports.every(isPort)) {
    throw new ProxyHeaderError("the PROXY header of version 1 does not end with two ports");
  }
  return { length, address: family === "TCP4" ? source : canonical(source) };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

/** Bytes of both addresses and ports, by family and transport: only streams of IP addresses come from clients. */
const addressBytes: ReadonlyMap<number, number> = new Map([
  [0x11, 12],
  [0x21, 36],
]);

function readBinary(bytes: Buffer): ProxyHeader | undefined {
  const command = bytes.readUInt8(12);
  if (command !== 0x20 && command !== 0x21) {
    throw new ProxyHeaderError("the PROXY header has another version than 2, or another command than LOCAL and PROXY");
  }
  const family = bytes.readUInt8(13);
  const length = fixedBytes + bytes.readUInt16BE(14);
  if (length > maxProxyHeaderBytes)
    throw new ProxyHeaderError(`the PROXY header has more than ${maxProxyHeaderBytes} bytes`);
  const addresses = addressBytes.get(family);
  // LOCAL comes from the proxy itself, and without a family the client is unknown: the rest is to be ignored.
  const isNamed = command === 0x21 && family !== 0;
  if (isNamed && addresses === undefined) {
    throw new ProxyHeaderError("the PROXY header of version 2 is not for TCP over IPv4 or IPv6");
  }
  if (isNamed && length < fixedBytes + (addresses as number)) {
    throw new ProxyHeaderError("the PROXY header of version 2 is shorter than its addresses");
  }
  if (bytes.length < length) return undefined;
  if (!isNamed) return { length, address: undefined };
  checkValues(bytes.subarray(fixedBytes + (addresses as number), length));
  const source = bytes.subarray(fixedBytes, fixedBytes + (family === 0x11 ? 4 : 16));
  return { length, address: family === 0x11 ? source.join(".") : canonical(groupsOf(source)) };
}

/** Type, length and value, as often as they fit: nothing of them is used, but they must end where the header ends. */
function checkValues(bytes: Buffer): void {
  let at = 0;
  while (at + 3 <= bytes.length) at += 3 + bytes.readUInt16BE(at + 1);
  if (at !== bytes.length) {
    throw new ProxyHeaderError("the values in the PROXY header of version 2 do not end with the header");
  }
}

function groupsOf(address: Buffer): string {
  return Array.from({ length: 8 }, (_, at) => address.readUInt16BE(at * 2).toString(16)).join(":");
}

/** The form that addresses of sockets have; access lists and delays compare texts. */
function canonical(address: string): string {
  return new SocketAddress({ address, family: "ipv6" }).address;
}
