import { expect, test } from "vitest";
import { Dice } from "../../harness/random.ts";
import { maxDeaths, stableRunMs, TaskTable } from "./task-table.ts";

function setUp() {
  const clock = { now: 1_000_000 };
  const failures: string[] = [];
  let pokes = 0;
  const tasks = new TaskTable({
    poke: () => {
      pokes += 1;
    },
    onFailure: (key, error) => failures.push(`${key}: ${(error as Error).message}`),
    now: () => clock.now,
  });
  return { clock, failures, tasks, pokes: () => pokes };
}

/** Lets the callbacks of settled promises run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a key is not free while its action runs, and the end of the action pokes the loop", async () => {
  const { tasks, pokes } = setUp();
  const action = Promise.withResolvers<void>();
  tasks.run("a", () => action.promise);
  expect([tasks.isFree("a"), tasks.isFree("b"), tasks.active, pokes()]).toEqual([false, true, 1, 0]);
  action.resolve();
  await settled();
  expect([tasks.isFree("a"), tasks.active, pokes(), tasks.size]).toEqual([true, 0, 1, 0]);
});

test("an action that is given while another runs waits for it, also when that one fails", async () => {
  const { tasks, failures, pokes } = setUp();
  const first = Promise.withResolvers<void>();
  const order: string[] = [];
  tasks.run("a", () => first.promise.finally(() => order.push("first")));
  tasks.run("a", async () => void order.push("second"));
  await settled();
  expect(order).toEqual([]);
  first.reject(new Error("broken"));
  await settled();
  expect([order, failures, pokes()]).toEqual([["first", "second"], ["a: broken"], 1]);
});

test("a failed action is followed by a growing pause before any other, and a success ends the growth", async () => {
  const { clock, tasks } = setUp();
  const pause = async () => {
    tasks.run("a", () => Promise.reject(new Error("broken")));
    await settled();
    const from = clock.now;
    while (!tasks.isFree("a")) clock.now += 1;
    return clock.now - from;
  };
  const lengths: number[] = [];
  for (let i = 0; i < 8; i += 1) lengths.push(await pause());
  for (const [i, ms] of lengths.entries()) {
    const full = Math.min(30_000, 500 * 2 ** i);
    expect(ms).toBeGreaterThanOrEqual(full / 2);
    expect(ms).toBeLessThanOrEqual(full + 1);
  }
  tasks.run("a", async () => {});
  await settled();
  expect(tasks.size).toBe(0);
  expect(await pause()).toBeLessThanOrEqual(501);
});

test("the first death allows a start at once, the next ones after pauses, and the last gives up and forgives", () => {
  const { clock, tasks } = setUp();
  expect(tasks.died("a", "killed")).toEqual({ count: 1, gaveUp: false, message: "killed" });
  expect(tasks.mayStart("a")).toBe(true);
  for (let count = 2; count < maxDeaths; count += 1) {
    expect(tasks.died("a", "killed")).toEqual({ count, gaveUp: false, message: "killed" });
    expect([tasks.mayStart("a"), tasks.mayStart("b")]).toEqual([false, true]);
    clock.now += 30_000;
    expect(tasks.mayStart("a")).toBe(true);
  }
  const message = `gave up after ${maxDeaths} attempts; killed`;
  expect(tasks.died("a", "killed")).toEqual({ count: maxDeaths, gaveUp: true, message });
  expect([tasks.mayStart("a"), tasks.size]).toEqual([true, 0]);
});

test("only deaths in a row that may give up are counted", () => {
  const { tasks } = setUp();
  for (let i = 0; i < maxDeaths - 1; i += 1) expect(tasks.died("a", "no start").gaveUp).toBe(false);
  expect(tasks.died("a", "crash", { endless: true })).toMatchObject({ count: maxDeaths, gaveUp: false });
  for (let i = 0; i < maxDeaths - 1; i += 1) expect(tasks.died("a", "no start").gaveUp).toBe(false);
  expect(tasks.died("a", "no start").message).toBe(`gave up after ${maxDeaths} attempts; no start`);
});

test("endless attempts never give up, and their pauses stay short", () => {
  const { clock, tasks } = setUp();
  for (let count = 1; count <= 3 * maxDeaths; count += 1) {
    expect(tasks.died("a", "away", { endless: true })).toEqual({ count, gaveUp: false, message: "away" });
    clock.now += 5_000;
    expect(tasks.mayStart("a")).toBe(true);
  }
});

test("a run is forgiven when it has been stable, not before", () => {
  const { clock, tasks } = setUp();
  tasks.died("a", "killed");
  tasks.started("a");
  clock.now += stableRunMs;
  tasks.runs("a");
  expect(tasks.died("a", "killed").count).toBe(2);
  tasks.started("a");
  clock.now += stableRunMs + 1;
  tasks.runs("a");
  expect(tasks.died("a", "killed").count).toBe(1);
});

test("a closed table takes no action and waits for those under way", async () => {
  const { tasks } = setUp();
  const action = Promise.withResolvers<void>();
  const done: string[] = [];
  tasks.run("a", () => action.promise);
  tasks.run("a", async () => void done.push("queued before"));
  const closed = tasks.close().then(() => done.push("closed"));
  tasks.run("b", async () => void done.push("late"));
  expect(tasks.isFree("b")).toBe(false);
  await settled();
  expect(done).toEqual([]);
  action.resolve();
  await closed;
  expect(done).toEqual(["queued before", "closed"]);
});

test("whatever happens in whatever order, actions of a key never overlap and deaths never make a hot loop", async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  const dice = new Dice(seed);
  const { clock, tasks } = setUp();
  const keys = ["a", "b", "c"];
  const running = new Map<string, number>();
  const given = new Map<string, number[]>();
  const begun = new Map<string, number[]>();
  const open: (() => void)[] = [];
  const starts = new Map<string, number[]>();
  let numbers = 0;
  const act = (key: string) => {
    const number = ++numbers;
    given.set(key, [...(given.get(key) ?? []), number]);
    const fails = dice.chance(0.3);
    tasks.run(key, async () => {
      begun.set(key, [...(begun.get(key) ?? []), number]);
      running.set(key, (running.get(key) ?? 0) + 1);
      expect(running.get(key), `seed ${seed}`).toBe(1);
      await new Promise<void>((resolve) => open.push(resolve));
      running.set(key, 0);
      if (fails) throw new Error("broken");
    });
  };
  for (let step = 0; step < 2_000; step += 1) {
    const key = dice.pick(keys);
    const what = dice.below(5);
    if (what === 0) act(key);
    else if (what === 1 && tasks.isFree(key)) act(key);
    else if (what === 2) open.splice(dice.below(open.length + 1), 1)[0]?.();
    else if (what === 3) clock.now += dice.below(2_000);
    // Dies again as soon as it is started.
    else if (tasks.mayStart(key)) {
      starts.set(key, [...(starts.get(key) ?? []), clock.now]);
      tasks.started(key);
      tasks.died(key, "killed");
    }
    await settled();
    expect(tasks.active, `seed ${seed}`).toBeLessThanOrEqual(keys.length);
  }
  const closed = tasks.close();
  let isClosed = false;
  closed.then(() => {
    isClosed = true;
  });
  for (; !isClosed; await settled()) for (const end of open.splice(0)) end();
  for (const key of keys) {
    expect(begun.get(key), `seed ${seed}: every action runs, in its order`).toEqual(given.get(key));
    const times = starts.get(key) ?? [];
    // Within the attempts of one series, all but the first two are at least 250 ms apart.
    for (let i = 0; i + maxDeaths <= times.length; i += maxDeaths) {
      for (let n = 2; n < maxDeaths; n += 1) {
        expect((times[i + n] as number) - (times[i + n - 1] as number), `seed ${seed}`).toBeGreaterThanOrEqual(250);
      }
    }
  }
});
