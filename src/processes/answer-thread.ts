/** The thread that builds large responses. */
import { parentPort } from "node:worker_threads";
import type { ThreadAnswer } from "../charts/answer/answer-threads.ts";
import { type AnswerTask, answerOf } from "../charts/answer/answer-work.ts";
import { AppError } from "../lib/errors.ts";

parentPort?.on("message", (task: AnswerTask) => {
  try {
    const { chunks, rows } = answerOf(task);
    const bytes = Array.from(chunks, (chunk) => new TextEncoder().encode(chunk));
    const answer: ThreadAnswer = { chunks: bytes, rows };
    parentPort?.postMessage(
      answer,
      bytes.map(({ buffer }) => buffer),
    );
  } catch (error) {
    const { code, message, issues } = error instanceof AppError ? error : new AppError("INTERNAL", String(error));
    const failure: ThreadAnswer = { failure: { code, message, issues } };
    parentPort?.postMessage(failure);
  }
});
