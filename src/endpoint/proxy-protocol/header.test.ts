import { isIPv6, SocketAddress } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxProxyHeaderBytes, ProxyHeaderError, readHeader } from "./header.ts";

const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

/** A header of version 2; `length` is what it says of itself. */
function binary(at: { command?: number; family?: number; rest?: Buffer; length?: number }): Buffer {
  const { command = 0x21, family = 0x11, rest = Buffer.alloc(12), length = rest.length } = at;
  return Buffer.concat([signature, Buffer.from([command, family, length >> 8, length & 255]), rest]);
}

const ports = Buffer.from([0x30, 0x39, 0x01, 0xbb]);
const inet = Buffer.concat([Buffer.from([203, 0, 113, 9, 10, 0, 0, 1]), ports]);
const inet6 = Buffer.concat([
  Buffer.from("20010db8000000000000000000000007fd000000000000000000000000000001", "hex"),
  ports,
]);
const value = (type: number, text: string) =>
  Buffer.concat([Buffer.from([type, text.length >> 8, text.length & 255]), Buffer.from(text)]);

const known: [string, Buffer, string | undefined][] = [
  ["TCP4", Buffer.from("PROXY TCP4 203.0.113.9 10.0.0.1 12345 443\r\n"), "203.0.113.9"],
  ["TCP6", Buffer.from("PROXY TCP6 2001:DB8:0::7 fd00::1 0 65535\r\n"), "2001:db8::7"],
  ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n"), undefined],
  ["UNKNOWN with addresses", Buffer.from("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), undefined],
  ["version 2 over IPv4", binary({ rest: inet }), "203.0.113.9"],
  ["version 2 over IPv6", binary({ family: 0x21, rest: inet6 }), "2001:db8::7"],
  [
    "version 2 with values",
    binary({ rest: Buffer.concat([inet, value(2, "ch.example.com"), value(4, ""), value(0xea, "\u0001vpce-0")]) }),
    "203.0.113.9",
  ],
  ["LOCAL", binary({ command: 0x20, family: 0, rest: Buffer.alloc(0) }), undefined],
  ["LOCAL with an address, which is ignored", binary({ command: 0x20, rest: inet }), undefined],
  ["version 2 without a family", binary({ family: 0, rest: Buffer.from("whatever") }), undefined],
];

describe.each(known)("%s", (_, header, address) => {
  test("the address and the length, whatever follows", () => {
    for (const after of ["", "GET / HTTP/1.1\r\n", "PROXY TCP4 6.6.6.6 6.6.6.6 1 1\r\n"]) {
      expect(readHeader(Buffer.concat([header, Buffer.from(after)]))).toEqual({ length: header.length, address });
    }
  });

  test("every beginning of it needs more bytes", () => {
    for (let length = 0; length < header.length; length += 1) {
      expect(readHeader(header.subarray(0, length))).toBeUndefined();
    }
  });
});

test.each([
  ["no header", Buffer.from("GET / HTTP/1.1\r\n"), "does not begin with a PROXY header"],
  ["TLS", Buffer.from("160301", "hex"), "does not begin with a PROXY header"],
  ["a line in lower case", Buffer.from("proxy TCP4"), "does not begin"],
  ["another family", Buffer.from("PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n"), "neither TCP4, TCP6 nor UNKNOWN"],
  ["an address of the other family", Buffer.from("PROXY TCP4 ::1 ::2 1 2\r\n"), "no two addresses of TCP4"],
  ["IPv4 as TCP6", Buffer.from("PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n"), "no two addresses of TCP6"],
  ["a zone", Buffer.from("PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n"), "no two addresses of TCP6"],
  ["an address with zeros in front", Buffer.from("PROXY TCP4 010.0.0.1 2.2.2.2 1 2\r\n"), "no two addresses"],
  ["a name", Buffer.from("PROXY TCP4 localhost 2.2.2.2 1 2\r\n"), "no two addresses"],
  ["two spaces", Buffer.from("PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n"), "no two addresses"],
  ["one port", Buffer.from("PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n"), "two ports"],
  ["a large port", Buffer.from("PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n"), "two ports"],
  ["a port with a sign", Buffer.from("PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n"), "two ports"],
  ["more than two ports", Buffer.from("PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n"), "two ports"],
  ["a line that does not end", Buffer.from(`PROXY UNKNOWN ${"x".repeat(93)}`), "more than 107 bytes"],
  ["a line that ends too late", Buffer.from(`PROXY UNKNOWN ${"x".repeat(92)}\r\n`), "more than 107 bytes"],
  ["version 3", binary({ command: 0x31, rest: inet }), "another version"],
  ["an unknown command", binary({ command: 0x22, rest: inet }), "another command"],
  ["UDP", binary({ family: 0x12, rest: inet }), "not for TCP over IPv4 or IPv6"],
  ["a socket of Unix", binary({ family: 0x31, rest: Buffer.alloc(216) }), "not for TCP over IPv4 or IPv6"],
  ["a length below its addresses", binary({ rest: inet, length: 11 }), "shorter than its addresses"],
  ["IPv6 with the length of IPv4", binary({ family: 0x21, rest: inet }), "shorter than its addresses"],
  ["a length without end", binary({ rest: inet, length: 65_535 }), "more than 4096 bytes"],
  [
    "values that go beyond the header",
    binary({ rest: Buffer.concat([inet, Buffer.from([2, 0, 9, 1])]) }),
    "do not end",
  ],
  ["half a value", binary({ rest: Buffer.concat([inet, Buffer.from([2, 0])]) }), "do not end"],
])("%s is refused", (_, bytes, text) => {
  expect(() => readHeader(bytes)).toThrow(text);
});

test("IPv4 in IPv6 has the form that sockets have", () => {
  expect(readHeader(Buffer.from("PROXY TCP6 ::FFFF:cb00:7109 ::1 1 2\r\n"))?.address).toBe("::ffff:203.0.113.9");
});

const port = fc.integer({ min: 0, max: 65_535 });
const values = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 255 }), fc.string({ maxLength: 40, unit: "grapheme-ascii" })),
);

test("headers of both versions have the address they were made of", () => {
  const pairs = fc.oneof(
    fc.tuple(fc.constant("TCP4" as const), fc.ipV4(), fc.ipV4()),
    fc.tuple(fc.constant("TCP6" as const), fc.ipV6(), fc.ipV6()).filter(([, a, b]) => isIPv6(a) && isIPv6(b)),
  );
  const property = fc.property(pairs, port, port, values, (pair, from, to, extra) => {
    const [family, source, destination] = pair;
    const expected = family === "TCP4" ? source : new SocketAddress({ address: source, family: "ipv6" }).address;
    const line = Buffer.from(`PROXY ${family} ${source} ${destination} ${from} ${to}\r\n`);
    expect(readHeader(line)).toEqual({ length: line.length, address: expected });
    const rest = Buffer.concat([
      bytesOf(source),
      bytesOf(destination),
      Buffer.from([from >> 8, from & 255, to >> 8, to & 255]),
      ...extra.map(([type, text]) => value(type, text)),
    ]);
    const header = binary({ family: family === "TCP4" ? 0x11 : 0x21, rest });
    expect(readHeader(Buffer.concat([header, Buffer.from("rest")]))).toEqual({
      length: header.length,
      address: expected,
    });
  });
  fc.assert(property);
});

test("no bytes do anything else than a header, an error with a reason, or waiting for a bounded number of bytes", () => {
  const beginnings = [Buffer.alloc(0), Buffer.from("PROXY "), signature, ...known.map(([, header]) => header)];
  const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
  const bytes = fc
    .tuple(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 5_000 }), fc.array(change, { maxLength: 3 }))
    .map(([first, more, changes]) => {
      const all = Buffer.concat([first, more]);
      for (const [at, byte] of changes) if (all.length > 0) all[at % all.length] = byte;
      return all;
    });
  const property = fc.property(bytes, (given) => {
    try {
      const header = readHeader(given);
      if (header === undefined) expect(given.length).toBeLessThan(maxProxyHeaderBytes);
      else expect(header.length).toBeLessThanOrEqual(given.length);
    } catch (error) {
      expect(error).toBeInstanceOf(ProxyHeaderError);
    }
  });
  fc.assert(property, { numRuns: 500 });
});

/** Bytes of an address, written out independently of the parser. */
function bytesOf(address: string): Buffer {
  if (address.includes(".") && !address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail = ""] = plain.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => "0");
  const all = plain.includes("::") ? [...groups(head), ...zeros, ...groups(tail)] : groups(plain);
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
