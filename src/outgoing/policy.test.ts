/** Which resolved addresses a setting allows. */
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { classOf } from "./addresses.ts";
import { defaultReach, OutgoingPolicy, parseReach } from "./policy.ts";

const setting = "--pipe-source-networks";
const policyOf = (text: string, ownPorts: readonly number[] = []) =>
  new OutgoingPolicy({ reach: parseReach(text), setting, ownPorts });

describe("classes of addresses", () => {
  test.each([
    ["8.8.8.8", "public"],
    ["2606:4700::1111", "public"],
    ["64:ff9b::8.8.8.8", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["0.0.0.0", "loopback"],
    ["::1", "loopback"],
    ["::", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::127.0.0.1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["2002:7f00:1::", "loopback"],
    ["10.0.0.1", "private"],
    ["172.31.255.255", "private"],
    ["172.32.0.1", "public"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "private"],
    ["100.128.0.1", "public"],
    ["fd12:3456::1", "private"],
    ["fec0::1", "private"],
    ["::ffff:10.1.2.3", "private"],
    ["64:ff9b::a01:203", "private"],
    ["2002:c0a8:101::1", "private"],
    ["169.254.1.1", "link-local"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["169.254.169.254", "metadata"],
    ["::ffff:169.254.169.254", "metadata"],
    ["64:ff9b::a9fe:a9fe", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["168.63.129.16", "metadata"],
    ["100.100.100.200", "metadata"],
    ["224.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["198.18.0.1", "reserved"],
    ["ff02::1", "reserved"],
    ["2001::1", "reserved"],
    ["2001:db8::1", "reserved"],
    ["100::1", "reserved"],
    ["64:ff9b:1::a00:1", "reserved"],
    ["4000::1", "reserved"],
  ])("%s is %s", (address, expected) => {
    expect(classOf(address)).toBe(expected);
  });

  test("addresses of this machine's interfaces are as near as loopback", () => {
    const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
    for (const { address } of addresses) expect(["loopback", "link-local"], address).toContain(classOf(address));
  });
});

describe("what a setting allows", () => {
  test.each([
    ["public", "8.8.8.8", undefined],
    ["public", "10.0.0.1", "private"],
    ["public,10.0.0.0/8", "10.0.0.1", undefined],
    ["public,10.0.0.0/8", "::ffff:10.0.0.1", undefined],
    ["public,10.0.0.0/8", "192.168.0.1", "private"],
    ["10.0.0.0/8", "8.8.8.8", "public"],
    ["none", "8.8.8.8", "public"],
    ["any", "127.0.0.1", undefined],
    ["any", "198.18.0.1", undefined],
    ["any", "169.254.169.254", "metadata"],
    ["any", "fe80::1", "link-local"],
    // Wide networks do not include addresses that must be listed explicitly.
    ["0.0.0.0/0,::/0", "8.8.8.8", undefined],
    ["0.0.0.0/0,::/0", "169.254.169.254", "metadata"],
    ["169.254.0.0/16", "169.254.7.7", undefined],
    ["169.254.0.0/16", "169.254.169.254", "metadata"],
    ["169.254.169.254", "169.254.169.254", undefined],
    ["fd00::/8", "fd00:ec2::254", "metadata"],
    ["private,loopback", "192.168.0.1", undefined],
    ["private,loopback", "::1", undefined],
  ])("%s and %s: %s", (text, address, expected) => {
    expect(policyOf(text).refusalOf(address, 443)).toBe(expected);
  });

  test("no setting allows the server itself, by none of its addresses", () => {
    for (const text of ["any", "127.0.0.0/8,::1"]) {
      const policy = policyOf(text, [8123]);
      for (const address of ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"]) {
        expect(policy.refusalOf(address, 8123), address).toBe("own");
      }
      expect(policy.refusalOf("127.0.0.1", 8124)).toBeUndefined();
      policy.ownPorts = [8124];
      expect(policy.refusalOf("127.0.0.1", 8124)).toBe("own");
    }
  });

  test("a mistake in the setting is named", () => {
    for (const text of ["intranet", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "fe80::1%eth0", "10.0.0.1/8/8"]) {
      expect(() => parseReach(`public,${text}`), text).toThrow(`"${text}"`);
    }
  });

  test("only a server on the network itself is closed to the networks behind it by default", () => {
    for (const host of ["127.0.0.1", "::1", "localhost"]) expect(defaultReach(host), host).toEqual(["any"]);
    for (const host of ["0.0.0.0", "::", "10.0.0.5", "db.example"])
      expect(defaultReach(host), host).toEqual(["public"]);
  });
});
