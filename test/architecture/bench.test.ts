/** Benchmarks that can fail: each of them has goals, and what is worse than in another commit is named. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { comparedField } from "../../bench/compare.ts";
import { benchGoals, soakGoals } from "../../bench/goals.ts";
import { judged } from "../../bench/judge.ts";
import { benchNames } from "../../bench/run-bench.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
test("every benchmark and every soak has goals, and each goal says why", () => {
  const soaks = readdirSync(join(root, "soak")).filter((file) => file.endsWith(".soak.ts"));
  expect(Object.keys(benchGoals).sort()).toEqual(benchNames(root));
  expect(Object.keys(soakGoals).sort()).toEqual(soaks.map((file) => file.slice(0, -".soak.ts".length)).sort());
  for (const goals of [...Object.values(benchGoals), ...Object.values(soakGoals)]) {
    expect(goals.length).toBeGreaterThan(0);
    for (const { why } of goals) expect(why).not.toBe("");
  }
});

test("a run is ok when every goal is met, and not when a field is missing or there was a problem", () => {
  const goals = [
    { field: "ratio", least: 0.9, why: "x" },
    { field: "ms", most: 5, why: "x" },
  ];
  expect(judged(goals, { ratio: 0.9, ms: 5 })).toMatchObject({ ok: true, missed: [] });
  expect(judged(goals, { ratio: 0.89, ms: 5.1 })).toMatchObject({ ok: false, missed: ["ratio", "ms"] });
  expect(judged(goals, { ratio: 1 })).toMatchObject({ ok: false, missed: ["ms"] });
  expect(judged(goals, { ratio: Number.NaN, ms: "4" })).toMatchObject({ ok: false, missed: ["ratio", "ms"] });
  expect(judged(goals, { ratio: 1, ms: 1, problem: "late" }).ok).toBe(false);
  expect(judged([], { ratio: 1 }).ok).toBe(false);
  const slow = [{ field: "ms", most: 5, why: "x", or: { field: "ofLeast", least: 0.9 } }];
  expect(judged(slow, { ms: 7, ofLeast: 0.9 }).ok).toBe(true);
  expect(judged(slow, { ms: 7, ofLeast: 0.89 }).ok).toBe(false);
  expect(judged(slow, { ms: 7, ofLeast: "1" }).ok).toBe(false);
  expect(judged(slow, { ofLeast: 1 }).ok).toBe(false);
});

test("a field is worse when all runs are, by a twentieth or more", () => {
  const verdict = (direction: -1 | 0 | 1, base: number[], here: number[]) =>
    comparedField("x", direction, base, here).verdict;
  expect(verdict(1, [1, 1.01, 1.02], [0.8, 0.81, 0.9])).toBe("worse");
  expect(verdict(-1, [1, 1.01, 1.02], [1.2, 1.3, 1.25])).toBe("worse");
  expect(verdict(-1, [1, 1.01, 1.02], [0.8, 0.81, 0.9])).toBe("better");
  expect(verdict(1, [1, 1.01, 0.85], [0.8, 0.81, 0.9]), "the noise is larger").toBe("equal");
  expect(verdict(1, [1, 1.01, 1.02], [0.96, 0.97, 0.98]), "a loss that nobody minds").toBe("equal");
  expect(verdict(0, [1, 1, 1], [2, 2, 2])).toBe("not judged");
});
