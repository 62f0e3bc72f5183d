import { expect, test } from "vitest";
import { BusyWatch } from "./busy-watch.ts";
import type { Tenant } from "./worker.ts";

function tenant(pipeId: string): Tenant & { work: number } {
  return { pipeId, work: 0, receive: () => {}, ended: () => {} };
}

function worker(utilization: number, ...tenants: Tenant[]) {
  return { tenants, utilization, isLeaving: false };
}

test("the pipe that loads most in a worker that stays busy moves, once", () => {
  const watch = new BusyWatch(2);
  const [idle, busy, busiest] = [tenant("idle"), tenant("busy"), tenant("busiest")];
  const workers = [worker(0.9, idle, busy, busiest), worker(0.1, tenant("other"))];
  expect(watch.look(workers, 0)).toBeUndefined();
  busy.work = 10;
  busiest.work = 100;
  expect(watch.look(workers, 9_000), "not before it was busy for long enough").toBeUndefined();
  expect(watch.look(workers, 10_000)).toBe(busiest);
  expect([idle, busy, busiest].map((one) => watch.mustMove(one))).toEqual([false, false, true]);
  expect(watch.takeMoved("busiest")).toBe(true);
  expect(watch.takeMoved("busiest"), "only its next start is special").toBe(false);
});

test("a worker that was quiet in between is not busy", () => {
  const watch = new BusyWatch(2);
  const [one, other] = [tenant("one"), tenant("other")];
  watch.look([worker(0.9, one, other)], 0);
  one.work = 5;
  const shared = worker(0.9, one, other);
  watch.look([shared], 1_000);
  shared.utilization = 0.2;
  watch.look([shared], 6_000);
  shared.utilization = 0.9;
  expect(watch.look([shared], 11_000)).toBeUndefined();
});

test("a pipe without neighbours stays, and so does one that has loaded nothing", () => {
  const watch = new BusyWatch(2);
  const alone = tenant("alone");
  const workers = [worker(1, alone), worker(1, tenant("a"), tenant("b"))];
  watch.look(workers, 0);
  alone.work = 1_000;
  expect(watch.look(workers, 60_000)).toBeUndefined();
});

test("no more pipes are moved than there are processors, and none again soon", () => {
  const watch = new BusyWatch(1);
  const [one, other] = [tenant("one"), tenant("other")];
  const shared = worker(1, one, other);
  watch.look([shared], 0);
  one.work = 10;
  expect(watch.look([shared], 10_000)).toBe(one);
  // It has ended, and another one keeps the loop busy.
  const rest = worker(1, other, tenant("third"));
  watch.look([rest], 20_000);
  other.work = 10;
  expect(watch.look([rest], 40_000)).toBeUndefined();
  expect(watch.look([rest], 610_000)).toBe(other);
});
