/** What a large answer of a chart costs the thread of the API, while another one makes it. */
import { expect, test } from "vitest";
import { answerTask } from "../../harness/charts/answer-task.ts";
import { cpuMs } from "../../harness/cpu-time.ts";
import { AnswerThreads } from "../../src/charts/answer/answer-threads.ts";
import { answerOf } from "../../src/charts/answer/answer-work.ts";

test("handing over and receiving takes less than a quarter of the work", async () => {
  const large = answerTask(300, 1_000, { formula: "series_0 * 2", limit: 299 });
  const here = await cpuMs(() => Array.from(answerOf(large).chunks, String).join(""));
  const threads = new AnswerThreads();
  const { signal } = new AbortController();
  // The start of a thread is not part of an answer: it costs as much for a small one.
  await threads.run(answerTask(1, 1), signal);
  const meanwhile = await cpuMs(async () => await threads.run(large, signal));
  expect(meanwhile).toBeLessThan(here / 4);
});
