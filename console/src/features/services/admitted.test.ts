import { expect, test } from "vitest";
import { accessCheck } from "../../../../src/endpoint/auth/access-list.ts";
import { admits } from "./admitted.ts";

const sources = [
  "0.0.0.0/0",
  "10.0.0.0/8",
  "10.1.2.3",
  "::/0",
  "fd00::/8",
  "::1",
  "2001:db8::1:0/112",
  "anywhere",
  "x",
  "1.2.3",
];
const addresses = [
  "10.1.2.3",
  "10.255.0.1",
  "11.0.0.1",
  "127.0.0.1",
  "::1",
  "fd12:3456::9",
  "2001:db8::1:ff",
  "fe80::1",
];

test("the console and the server agree on every pair of entry and address", () => {
  for (const source of sources) {
    const check = accessCheck([source]);
    expect(
      addresses.filter((address) => admits(source, address)),
      source,
    ).toEqual(addresses.filter(check));
  }
});
