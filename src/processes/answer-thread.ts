/** The thread that builds large responses. */
import type { ThreadAnswer } from "../charts/answer/answer-threads.ts";
import { type AnswerTask, answerOf } from "../charts/answer/answer-work.ts";
import { answerTasks } from "../lib/threads.ts";

answerTasks<AnswerTask, ThreadAnswer>((task) => {
  const { chunks, rows } = answerOf(task);
  const bytes = Array.from(chunks, (chunk) => new TextEncoder().encode(chunk));
  return [{ chunks: bytes, rows }, bytes.map(({ buffer }) => buffer)];
});
