/** Failed logins are delayed and counted by address, and their records are bounded. */
import { expect, test } from "vitest";
import { networkOf } from "./access-list.ts";
import { FailedLogins } from "./failed-logins.ts";

/** A stopped clock, and every wait in order. */
function stage(perMinute = 20) {
  let now = 0;
  const waits: number[] = [];
  const logins = new FailedLogins({
    perMinute,
    now: () => now,
    wait: async (ms) => {
      waits.push(ms);
    },
  });
  return {
    logins,
    waits,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test("the delay grows with the failures of an address, up to five seconds, and falls again", async () => {
  const { logins, waits, pass } = stage();
  for (let i = 0; i < 12; i += 1) await logins.failed("192.0.2.1");
  expect(waits.slice(0, 6)).toEqual([100, 200, 400, 800, 1600, 3200]);
  expect(Math.max(...waits)).toBe(5000);
  await logins.failed("192.0.2.2");
  expect(waits).toHaveLength(9);
  pass(60_000);
  await logins.failed("192.0.2.1");
  expect(waits).toHaveLength(9);
});

test("past the failures of a minute there are too many, until time has passed", async () => {
  const logins = new FailedLogins({ perMinute: 5, now: () => 0, wait: async () => {} });
  const told = [];
  for (let i = 0; i < 7; i += 1) told.push(await logins.failed("192.0.2.1"));
  expect(told).toEqual([true, true, true, true, true, false, false]);
  expect(await logins.failed("192.0.2.2")).toBe(true);
});

test("few answers wait at a time, by address and altogether; the rest leaves at once", async () => {
  const waiting: (() => void)[] = [];
  const wait = () => new Promise<void>((resolve) => waiting.push(resolve));
  const logins = new FailedLogins({ perMinute: 1000, now: () => 0, wait });
  const told: boolean[] = [];
  const fail = async (address: string) => void told.push(await logins.failed(address));
  for (let i = 0; i < 100; i += 1) void fail("192.0.2.1");
  expect(waiting).toHaveLength(8);
  for (let host = 0; host < 200; host += 1) for (let i = 0; i < 20; i += 1) void fail(`10.0.0.${host}`);
  expect(waiting).toHaveLength(500);
  for (const resolve of waiting.splice(0)) resolve();
  await expect.poll(() => told.length).toBe(100 + 200 * 20);
  void fail("192.0.2.1");
  expect(waiting).toHaveLength(1);
});

test("of very many addresses the one that failed longest ago is forgotten, and no other", async () => {
  const { logins, waits } = stage();
  for (let i = 0; i < 4; i += 1) await logins.failed("192.0.2.1");
  for (let i = 0; i < 10_000; i += 1) {
    await logins.failed(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    if (i % 1000 === 0) await logins.failed("192.0.2.1");
  }
  expect(logins.size).toBe(10_000);
  const before = waits.length;
  await logins.failed("192.0.2.1");
  expect(waits.length).toBe(before + 1);
});

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:1:2::7", "2001:db8:1:2::/64"],
  ["2001:db8::", "2001:db8:0:0::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["1::2:3:4:5:6:7", "1:0:2:3::/64"],
  ["64:ff9b::192.0.2.33", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["", ""],
])("%s counts as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
