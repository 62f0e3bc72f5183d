/** The known disk use, against a store that counts its writes. */
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Service } from "../store/services/services.ts";
import { ServiceDisks } from "./disks.ts";

const gib = 2 ** 30;

function setUp(diskGb: number | null) {
  let row = { id: "s", diskGb, diskUsedBytes: null } as unknown as Service;
  const written: number[] = [];
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const services = {
    find: async () => row,
    setDiskUsed: async (_id: string, bytes: number) => {
      written.push(bytes);
      row = { ...row, diskUsedBytes: bytes };
    },
  };
  const make = () => new ServiceDisks({ services, logger });
  return { disks: make(), make, written, lines, row: () => row };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

test("the store learns of changes above one percent, at most every ten seconds", async () => {
  const { disks, written, row } = setUp(null);
  await disks.report("s", 1000);
  await disks.report("s", 5000);
  expect(written).toEqual([1000]);
  expect(disks.usedBytes(row())).toBe(5000);
  vi.setSystemTime(Date.now() + 10_000);
  await disks.report("s", 5000);
  vi.setSystemTime(Date.now() + 10_000);
  await disks.report("s", 5050);
  expect(written).toEqual([1000, 5000]);
  await disks.report("s", 5051);
  expect(written).toEqual([1000, 5000, 5051]);
});

test("a service that sleeps, or whose control plane is new, has its last known use", async () => {
  const { disks, make, row } = setUp(1);
  expect(disks.usedBytes(row())).toBeUndefined();
  await disks.report("s", 2 * gib);
  expect(make().usedBytes(row())).toBe(2 * gib);
  expect(await make().problemOf("s")).toMatch(/2\.00 GiB.*diskGb/);
});

test("the log warns once each time that a service comes to be over its quota", async () => {
  const { disks, lines } = setUp(1);
  for (const used of [0, gib, gib + 1, gib - 1, gib + 2]) await disks.report("s", used);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/its limit \(diskGb\) is 1 GiB/);
});
