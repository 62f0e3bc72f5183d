import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HistoryStore, historyFileBytes } from "./history.ts";

const begin = Date.parse("2026-01-01T00:00:00Z") / 1000;

let dir: string;
let history: HistoryStore<"a" | "b">;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-history-"));
  history = new HistoryStore(dir, ["a", "b"]);
});
afterEach(() => {
  history.close();
  rmSync(dir, { recursive: true, force: true });
});

const add = (second: number, values: { a?: number; b?: number }) => history.add("x", (begin + second) * 1000, values);
const read = (from: number, step: number, points: number) => history.read("x", { from: begin + from, step, points });

describe("a history", () => {
  test("has gaps where nothing was recorded, and for numbers that were not known: never 0, never a guess", () => {
    add(0, { a: 1 });
    add(11, { a: 3, b: 0 });
    expect(read(0, 5, 4)).toEqual({ a: [1, null, 3, null], b: [null, null, 0, null] });
    expect(read(0, 60, 2)).toEqual({ a: [2, null], b: [0, null] });
    expect(history.read("unknown", { from: begin, step: 5, points: 2 })).toEqual({ a: [null, null], b: [null, null] });
  });

  test("survives a restart without having been closed, and continues in the same minute", () => {
    add(0, { a: 1 });
    history = new HistoryStore(dir, ["a", "b"]);
    add(5, { a: 3 });
    expect(read(0, 5, 2).a).toEqual([1, 3]);
    expect(read(0, 60, 1).a).toEqual([2]);
  });

  test("keeps samples for an hour and minutes for a week, in a file that never grows", () => {
    for (let second = 0; second < 8 * 86_400; second += 60) add(second, { a: second });
    expect(statSync(join(dir, "x")).size).toBe(historyFileBytes);
    const end = 8 * 86_400;
    expect(read(end - 3_600, 60, 60).a).not.toContain(null);
    expect(read(end - 7 * 86_400, 60, 10_080).a).not.toContain(null);
    expect(read(0, 60, 1_440).a.every((value) => value === null)).toBe(true);
    expect(read(end - 7_200, 5, 720).a.every((value) => value === null)).toBe(true);
    expect(read(end - 3_600, 5, 720).a.filter((value) => value !== null)).toHaveLength(60);
  });

  test("gives a step the mean of what is known in it", () => {
    for (let minute = 0; minute < 10; minute += 1) if (minute !== 3) add(minute * 60, { a: minute });
    expect(read(0, 300, 2).a).toEqual([(0 + 1 + 2 + 4) / 4, 7]);
  });

  test("goes away with its object", () => {
    add(0, { a: 1 });
    history.add("y", begin * 1000, { a: 2 });
    history.keepOnly(new Set(["y"]));
    expect(readdirSync(dir)).toEqual(["y"]);
    expect(read(0, 5, 1).a).toEqual([null]);
    add(0, { b: 1 });
    expect(read(0, 5, 1)).toEqual({ a: [null], b: [1] });
  });

  test("has no values of a name that was added later", () => {
    add(0, { a: 1 });
    const later = new HistoryStore(dir, ["a", "b", "c"]);
    expect(later.read("x", { from: begin, step: 5, points: 1 })).toEqual({ a: [1], b: [null], c: [null] });
    later.close();
  });
});
