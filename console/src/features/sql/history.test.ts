import { expect, test } from "vitest";
import type { RunState } from "../../grid/query-run.ts";
import { outcomeOf, withStatement } from "./history.ts";

const ended = (more: Partial<RunState>): RunState => ({
  ...{ status: "done", statement: "SELECT 1", columns: [], rows: [], rowCount: 1, progress: undefined },
  ...{ startedAt: 0, elapsedMs: 5, cutAt: undefined, writtenRows: 0, error: undefined },
  ...more,
});

test("what the page itself cut is limited, not failed", () => {
  const outcomes = [
    ended({}),
    ended({ cutAt: "rows" }),
    ended({ status: "failed", cutAt: "rows" }),
    ended({ status: "cancelled" }),
  ].map(outcomeOf);
  expect(outcomes).toEqual(["done", "limited", "failed", "cancelled"]);
});

test("a statement without a result has no number of rows, and one that wrote has that of the rows written", () => {
  const columns = [{ name: "a", type: "Int32" }];
  const states = [ended({ columns }), ended({ rowCount: 0 }), ended({ rowCount: 0, writtenRows: 2 })];
  const counts = states.map((state) => withStatement([], state, 0)[0]).map((one) => [one?.rows, one?.written]);
  expect(counts).toEqual([
    [1, undefined],
    [undefined, undefined],
    [undefined, 2],
  ]);
});

test("the newest is first, a repeated one is there once, and the object stays within its size", () => {
  const first = withStatement([], ended({ statement: "SELECT 1" }), 100);
  const second = withStatement(first, ended({ statement: "SELECT 2" }), 200);
  const third = withStatement(second, ended({ statement: " SELECT 1 " }), 300);
  expect(third.map(({ text, at }) => [text, at])).toEqual([
    ["SELECT 1", 295],
    ["SELECT 2", 195],
  ]);
  let all = third;
  for (let at = 0; at < 120; at += 1) all = withStatement(all, ended({ statement: `${at} ${"x".repeat(5_000)}` }), at);
  expect(all[0]?.text).toMatch(/^119 /);
  expect(JSON.stringify(all).length).toBeLessThan(200_001);
});
