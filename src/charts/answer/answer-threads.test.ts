/** Large answers are made in another thread, with the same text; `test/costs` shows that this one is free meanwhile. */
import { describe, expect, test } from "vitest";
import { answerStart, answerTask as task } from "../../../harness/charts/answer-task.ts";
import { AnswerThreads } from "./answer-threads.ts";
import { answerOf, isSmall } from "./answer-work.ts";

const signal = new AbortController().signal;
const text = (chunks: Iterable<string | Buffer>) => Array.from(chunks, String).join("");

describe("what is small", () => {
  test("by bytes, and by the rows that gaps are filled with", () => {
    expect(isSmall(task(10, 100))).toBe(true);
    expect(isSmall(task(10, 1_000))).toBe(false);
    expect(isSmall(task(10, 100, { fill: "zero" }))).toBe(false);
    expect(isSmall(task(1, 10, { fill: "zero" }))).toBe(true);
  });
});

test("the text is that of the same work done here", async () => {
  const large = task(300, 1_000, { formula: "series_0 * 2", limit: 299 });
  const { chunks, rows } = answerOf(large);
  const made = await new AnswerThreads().run(large, signal);
  expect(made.rows).toBe(rows);
  expect(text(made.chunks) === text(chunks)).toBe(true);
});

test("refusals keep code and issues, and a thread goes on after one", async () => {
  const threads = new AnswerThreads();
  const wide = task(100, 100, { fill: "zero", endTime: answerStart + 10_999 * 60_000 });
  await expect(threads.run(wide, signal)).rejects.toMatchObject({
    code: "BAD_REQUEST",
    issues: [{ path: "fill", message: expect.stringContaining("at most 1000000") }],
  });
  const plans = task(1, 1).plans.map((plan) => ({ ...plan, bytes: [Buffer.from('{"data":[')] }));
  await expect(threads.run({ ...task(1, 1), plans }, signal)).rejects.toMatchObject({ code: "QUERY_FAILED" });
  expect((await threads.run(task(2, 2), signal)).rows).toBe(4);
});

test("more than two wait; who goes away frees the thread", async () => {
  const threads = new AnswerThreads();
  const gone = new AbortController();
  const running = [threads.run(task(300, 1_000), gone.signal), threads.run(task(300, 1_000), gone.signal)];
  const waiting = threads.run(task(300, 1_000), gone.signal);
  const others = [threads.run(task(1, 3), signal), threads.run(task(1, 4), signal), threads.run(task(1, 5), signal)];
  gone.abort(new Error("gone"));
  for (const one of [...running, waiting]) await expect(one).rejects.toThrow("gone");
  expect((await Promise.all(others)).map(({ rows }) => rows)).toEqual([3, 4, 5]);
});
