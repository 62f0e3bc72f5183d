import { describe, expect, test } from "vitest";
import { Dice } from "../../harness/random.ts";
import { eachOf, Limiter, LineFull } from "./limiter.ts";

/** Lets the callbacks of settled promises run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a limiter", () => {
  test("lets in as many as it has slots, and the others in the order they came", async () => {
    const limiter = new Limiter({ slots: 2 });
    const inside: number[] = [];
    const leaves: (() => void)[] = [];
    for (let i = 0; i < 5; i += 1) {
      limiter.enter().then((leave) => {
        inside.push(i);
        leaves.push(leave);
      });
    }
    await settled();
    expect(inside).toEqual([0, 1]);
    leaves[1]?.();
    await settled();
    expect(inside).toEqual([0, 1, 2]);
    leaves[0]?.();
    leaves[2]?.();
    await settled();
    expect([inside, limiter.isIdle]).toEqual([[0, 1, 2, 3, 4], false]);
    for (const leave of leaves) leave();
    expect(limiter.isIdle).toBe(true);
  });

  test("gives a slot back once, however often that is asked", async () => {
    const limiter = new Limiter({ slots: 1 });
    const leave = await limiter.enter();
    leave();
    leave();
    await limiter.enter();
    let isIn = false;
    limiter.enter().then(() => {
      isIn = true;
    });
    await settled();
    expect(isIn).toBe(false);
  });

  test("refuses when the line is full, and has room in it again when somebody leaves the line", async () => {
    const limiter = new Limiter({ slots: 1, line: 1 });
    await limiter.enter();
    const gone = new AbortController();
    const waiting = limiter.enter(gone.signal);
    await expect(limiter.enter()).rejects.toThrow(LineFull);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    limiter.enter().catch(() => {});
    await expect(limiter.enter()).rejects.toThrow(LineFull);
  });

  test("lets nobody in whose signal has aborted", async () => {
    const limiter = new Limiter({ slots: 1 });
    await expect(limiter.enter(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    expect(limiter.isIdle).toBe(true);
  });

  test("gives the slot back when the work fails", async () => {
    const limiter = new Limiter({ slots: 1 });
    await expect(limiter.run(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await limiter.run(async () => 3)).toBe(3);
    expect(limiter.isIdle).toBe(true);
  });

  test("never has more inside than slots, and nobody is forgotten", async () => {
    const seed = Date.now() % 2 ** 31;
    const dice = new Dice(seed);
    const slots = 1 + dice.below(4);
    const limiter = new Limiter({ slots });
    const ends: (() => void)[] = [];
    const waiting = new Set<AbortController>();
    let inside = 0;
    let [done, left, asked] = [0, 0, 0];
    for (let step = 0; step < 2_000; step += 1) {
      const what = dice.below(5);
      if (what < 2) {
        asked += 1;
        const controller = new AbortController();
        waiting.add(controller);
        const work = async () => {
          waiting.delete(controller);
          inside += 1;
          expect(inside, `seed ${seed}`).toBeLessThanOrEqual(slots);
          await new Promise<void>((resolve) => ends.push(resolve));
          inside -= 1;
          done += 1;
        };
        limiter.run(work, controller.signal).catch(() => {
          left += 1;
        });
      } else if (what < 4) ends.splice(dice.below(ends.length + 1), 1)[0]?.();
      else {
        const [first] = waiting;
        first?.abort(new Error("gone"));
        if (first) waiting.delete(first);
      }
      if (dice.chance(0.5)) await settled();
    }
    while (!limiter.isIdle) {
      for (const end of ends.splice(0)) end();
      await settled();
    }
    expect(done + left, `seed ${seed}`).toBe(asked);
  });
});

describe("eachOf", () => {
  test("starts nothing after a failure, waits for what runs, and throws the first error", async () => {
    const begun: number[] = [];
    let ended = 0;
    const run = eachOf([0, 1, 2, 3, 4], 2, async (item) => {
      begun.push(item);
      await settled();
      ended += 1;
      if (item === 1) throw new Error("broken");
      if (item === 2) throw new Error("broken later");
    });
    await expect(run).rejects.toThrow(/^broken$/);
    expect([begun, ended]).toEqual([[0, 1, 2], 3]);
  });

  test("takes items only when there is a slot", async () => {
    let taken = 0;
    const items = function* () {
      for (; taken < 100; taken += 1) yield taken;
    };
    let most = 0;
    await eachOf(items(), 3, async (item) => {
      await settled();
      most = Math.max(most, taken - item);
    });
    expect([taken, most <= 6]).toEqual([100, true]);
  });
});
