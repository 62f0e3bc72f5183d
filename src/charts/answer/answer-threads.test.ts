/** Large answers are made in another thread: the same text, while this one is free. */
import { describe, expect, test } from "vitest";
import { cpuMs } from "../../../harness/cpu-time.ts";
import { seriesRequest } from "../../api/charts.ts";
import { AnswerThreads, type LargeAnswer } from "./answer-threads.ts";
import { type AnswerTask, answerOf, isSmall } from "./answer-work.ts";

const minute = 60_000;
const start = 1_714_557_600_000;

/** A count by one group, of so many groups in each of so many minutes. */
function task(groups: number, minutes: number, over: object = {}): AnswerTask {
  const series = [{ sourceId: "x", aggFn: "count", groupBy: ["s"] }];
  const range = { startTime: start, endTime: start + minutes * minute - 1, granularity: "1m" };
  const request = seriesRequest.parse({ series, ...range, ...over });
  const first = start / minute;
  const data: [number, string, string][] = [];
  for (let bucket = 0; bucket < minutes; bucket += 1) {
    for (let group = 0; group < groups; group += 1) data.push([first + bucket, `grüppe ${group}`, String(group)]);
  }
  const item = request.series[0] as (typeof request.series)[0];
  const bytes = Buffer.from(JSON.stringify({ data }));
  const half = Math.floor(bytes.length / 2);
  return {
    request,
    format: "json",
    plans: [
      {
        series: [{ index: 0, item }],
        decoding: { kind: "rows", wrapped: undefined, numbers: [false], values: ["number"], dropEmpty: false },
        // Cut within a character, and of memory that is shared with others.
        bytes: [bytes.subarray(0, half), bytes.subarray(half)],
      },
    ],
  };
}

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

test("the text is that of the same work done here, and this thread does little of it", async () => {
  const large = task(300, 1_000, { formula: "series_0 * 2", limit: 299 });
  let expected = { text: "", rows: 0 };
  const here = await cpuMs(() => {
    const { chunks, rows } = answerOf(large);
    expected = { text: text(chunks), rows };
  });
  // The start of a thread is no part of an answer: it costs as much for a small one.
  const threads = new AnswerThreads();
  await threads.run(task(1, 1), signal);
  let made: LargeAnswer | undefined;
  const meanwhile = await cpuMs(async () => {
    made = await threads.run(large, signal);
  });
  expect(made?.rows).toBe(expected.rows);
  expect(text(made?.chunks ?? []) === expected.text).toBe(true);
  // Handing over and receiving the bytes.
  expect(meanwhile).toBeLessThan(here / 4);
});

test("refusals keep code and issues, and a thread goes on after one", async () => {
  const threads = new AnswerThreads();
  const wide = task(100, 100, { fill: "zero", endTime: start + 10_999 * minute });
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
