import { afterEach, beforeEach, expect, test } from "vitest";
import { createLogger } from "./logger.ts";
import { Loop } from "./loop.ts";

let stop: AbortController;
let begun: number;
let finish: (() => void)[];
let running: Promise<void>;
let loop: Loop;

beforeEach(() => {
  stop = new AbortController();
  begun = 0;
  finish = [];
  loop = new Loop({
    name: "test",
    everyMs: 60_000,
    logger: createLogger("silent"),
    body: async () => {
      begun += 1;
      if (begun === 3) throw new Error("a pass that fails is over, too");
      await new Promise<void>((done) => finish.push(done));
    },
  });
  running = loop.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  for (const done of finish) done();
  await running;
});

test("a caller waits for a pass that begins after the call, not for the one under way", async () => {
  let over = false;
  const passed = loop.passed(60_000).then(() => {
    over = true;
  });
  expect(begun).toBe(1);
  finish[0]?.();
  await expect.poll(() => begun).toBe(2);
  expect(over).toBe(false);
  finish[1]?.();
  await passed;
  await Promise.all([loop.passed(60_000), loop.passed(60_000)]);
  expect(begun).toBe(3);
});

test("a caller waits no longer than it says", async () => {
  await loop.passed(10);
  expect(begun).toBe(1);
});
